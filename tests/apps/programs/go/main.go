// An app with the MCP SDK for Go and golang.org/x/oauth2, which refreshes without a resource.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/oauth2"
)

const callback = "http://127.0.0.1:41875/callback"

var (
	address = os.Getenv("MCP_URL")
	issuer  = strings.TrimSuffix(address, "/mcp")
	stdin   = bufio.NewReader(os.Stdin)
	ctx     = context.Background()
)

func ask(line string) string {
	fmt.Println(line)
	answer, _ := stdin.ReadString('\n')
	return strings.TrimSpace(answer)
}

func step(name string, work func() error) {
	if err := work(); err != nil {
		fmt.Println("FAILED", name, strings.ReplaceAll(err.Error(), "\n", " "))
	} else {
		fmt.Println("DONE", name)
	}
}

func login() (*oauth2.Config, *oauth2.Token, error) {
	body := `{"redirect_uris":["` + callback + `"],"client_name":"Go SDK"}`
	response, err := http.Post(issuer+"/oauth/register", "application/json", strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	var client struct {
		ID string `json:"client_id"`
	}
	if err := json.NewDecoder(response.Body).Decode(&client); err != nil {
		return nil, nil, err
	}
	config := &oauth2.Config{
		ClientID:    client.ID,
		RedirectURL: callback,
		Scopes:      []string{"agents:read", "agents:write", "offline_access"},
		Endpoint: oauth2.Endpoint{
			AuthURL:   issuer + "/oauth/authorize",
			TokenURL:  issuer + "/oauth/token",
			AuthStyle: oauth2.AuthStyleInParams,
		},
	}
	verifier := oauth2.GenerateVerifier()
	resource := oauth2.SetAuthURLParam("resource", address)
	back := ask("OPEN " + config.AuthCodeURL("state", resource, oauth2.S256ChallengeOption(verifier)))
	answer, err := url.Parse(back)
	if err != nil {
		return nil, nil, err
	}
	token, err := config.Exchange(ctx, answer.Query().Get("code"), oauth2.VerifierOption(verifier))
	return config, token, err
}

func call(config *oauth2.Config, token *oauth2.Token, name string, args map[string]any) (string, error) {
	transport := &mcp.StreamableClientTransport{
		Endpoint:   address,
		HTTPClient: config.Client(ctx, token),
		MaxRetries: -1,
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "go-app", Version: "1"}, nil)
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return "", err
	}
	defer session.Close()
	tools, err := session.ListTools(ctx, nil)
	if err != nil || len(tools.Tools) != 6 {
		return "", fmt.Errorf("not six tools: %v %v", tools, err)
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(result)
	return string(text), err
}

func machines(config *oauth2.Config, token *oauth2.Token) error {
	text, err := call(config, token, "list_machines", map[string]any{})
	if err == nil && !strings.Contains(text, "dm-") {
		return fmt.Errorf("no machine: %s", text)
	}
	return err
}

func refreshed(config *oauth2.Config, token *oauth2.Token) (*oauth2.Token, error) {
	expired := *token
	expired.Expiry = time.Now().Add(-time.Hour)
	return config.TokenSource(ctx, &expired).Token()
}

func main() {
	send := map[string]any{"daemon_id": "dm-000000000000", "peer_id": "peer-0", "message": "Hello"}
	var config *oauth2.Config
	var token *oauth2.Token
	step("login", func() (err error) {
		config, token, err = login()
		return err
	})
	if token == nil {
		return
	}
	step("tools", func() error { return machines(config, token) })
	step("refresh", func() (err error) {
		if token, err = refreshed(config, token); err != nil {
			return err
		}
		return machines(config, token)
	})
	step("revocation", func() error {
		ask("REVOKE")
		if machines(config, token) == nil {
			return fmt.Errorf("it still works")
		}
		return nil
	})
	step("read-only", func() (err error) {
		if config, token, err = login(); err != nil {
			return err
		}
		if token, err = refreshed(config, token); err != nil {
			return err
		}
		if err := machines(config, token); err != nil {
			return err
		}
		if _, err := call(config, token, "send_message", send); err == nil {
			return fmt.Errorf("a message was taken")
		}
		return nil
	})
}
