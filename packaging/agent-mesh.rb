# The Homebrew formula; a release fills in the version, the addresses and the hashes.
class AgentMesh < Formula
  desc "Lets the coding agents on your machine, and you, ask each other questions"
  homepage "@HOMEPAGE@"
  version "@VERSION@"
  license "MIT"

  on_macos do
    on_arm do
      url "@RELEASE@/mesh-aarch64-apple-darwin"
      sha256 "@SHA256 mesh-aarch64-apple-darwin@"
    end
    on_intel do
      url "@RELEASE@/mesh-x86_64-apple-darwin"
      sha256 "@SHA256 mesh-x86_64-apple-darwin@"
    end
  end
  on_linux do
    on_arm do
      url "@RELEASE@/mesh-aarch64-unknown-linux-gnu"
      sha256 "@SHA256 mesh-aarch64-unknown-linux-gnu@"
    end
    on_intel do
      url "@RELEASE@/mesh-x86_64-unknown-linux-gnu"
      sha256 "@SHA256 mesh-x86_64-unknown-linux-gnu@"
    end
  end

  def install
    bin.install Dir["mesh-*"].first => "mesh"
    generate_completions_from_executable(bin/"mesh", "completions")
  end

  service do
    run [opt_bin/"mesh", "daemon"]
    keep_alive successful_exit: false
    environment_variables PATH: std_service_path_env
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/mesh --version")
  end
end
