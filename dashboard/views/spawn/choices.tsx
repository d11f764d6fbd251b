/** The configured choices for a new agent: kinds, profiles, commands. */

import { SelectField } from "../../components/fields.tsx";
import type { Backend, SpawnConfig } from "../../state/records.ts";

/** The kinds of agents with a configured command. */
export function backendsOf({ commands }: SpawnConfig): Backend[] {
  const isConfigured = (key: string): key is Backend => Object.hasOwn(commands, key);
  return Object.keys(commands).filter(isConfigured);
}

/** The profiles for a kind of agent, by name. */
function profilesOf({ profiles }: SpawnConfig, backend: Backend): string[] {
  return Object.keys(profiles).filter((name) => (profiles[name]?.backend ?? backend) === backend)
    .sort();
}

/** The command that the daemon would run: the kind's command, then the profile's arguments. */
export function commandOf(
  { commands, profiles }: SpawnConfig,
  backend: Backend,
  profile: string,
): string[] {
  const args = Object.hasOwn(profiles, profile) ? profiles[profile]?.args ?? [] : [];
  return [...commands[backend] ?? [], ...args];
}

export interface AgentKind {
  /** Undefined if no command is configured. */
  readonly backend: Backend | undefined;
  /** Empty for none. */
  readonly profile: string;
}

export function AgentChoice({ config, chosen: { backend, profile }, change }: {
  config: SpawnConfig;
  chosen: AgentKind;
  change: (kind: Partial<AgentKind>) => void;
}) {
  const backends = backendsOf(config);
  return (
    <div class="tiles fit">
      <SelectField
        label="Agent"
        value={backend}
        options={backends.map((name) => [name, name] as const)}
        choose={(next) => change({ backend: next, profile: "" })}
      />
      {backend && (
        <ProfileChoice
          config={config}
          backend={backend}
          chosen={profile}
          choose={(name) => change({ profile: name })}
        />
      )}
    </div>
  );
}

export function ProfileChoice({ config, backend, chosen, choose }: {
  config: SpawnConfig;
  backend: Backend;
  chosen: string;
  choose: (profile: string) => void;
}) {
  const names = profilesOf(config, backend);
  if (names.length === 0) return null;
  const variables = Object.hasOwn(config.profiles, chosen)
    ? Object.keys(config.profiles[chosen]?.env ?? {})
    : [];
  return (
    <label>
      Profile
      <select value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">none</option>
        {names.map((name) => <option key={name} value={name}>{name}</option>)}
      </select>
      {variables.length > 0 && (
        <span class="hint">sets {variables.join(", ")}; the values are not shown</span>
      )}
    </label>
  );
}
