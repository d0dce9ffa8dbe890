// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// ErrNoToken says that the environment has neither a token of the hub nor what
// one can be had for.
var ErrNoToken = errors.New("there is no token in the environment")

// The hub takes identity tokens that were made for it and no other audience
// (https://huggingface.co/docs/hub/trusted-publishers).
const (
	hubAudience   = "https://huggingface.co"
	exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange" // RFC 8693
	idTokenType   = "urn:ietf:params:oauth:token-type:id_token"
)

// HubToken returns a token that may write to the dataset repository (owner/name)
// of a hub: HF_TOKEN, or one for an hour that a CI job gets for its identity
// where the repository names it as a trusted publisher. The identity is
// HF_OIDC_ID_TOKEN, or in GitHub Actions what a job with the permission
// id-token: write may ask for. getenv is os.Getenv. The error is [ErrNoToken]
// where none of these is set. Tokens are in no error.
func HubToken(ctx context.Context, getenv func(string) string, endpoint, repository string, client *http.Client) (string, error) {
	if t := getenv("HF_TOKEN"); t != "" {
		return t, nil
	}
	if client == nil {
		client = http.DefaultClient
	}
	if endpoint == "" {
		endpoint = HubURL
	}
	id := getenv("HF_OIDC_ID_TOKEN")
	if id == "" {
		ask, pass := getenv("ACTIONS_ID_TOKEN_REQUEST_URL"), getenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN")
		if ask == "" || pass == "" {
			return "", ErrNoToken
		}
		u, err := url.Parse(ask)
		if err != nil {
			return "", errors.New("ACTIONS_ID_TOKEN_REQUEST_URL is no address")
		}
		q := u.Query()
		q.Set("audience", hubAudience)
		u.RawQuery = q.Encode()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
		if err != nil {
			return "", err
		}
		req.Header.Set("Authorization", "bearer "+pass)
		var got struct {
			Value string `json:"value"`
		}
		if err := tokenCall(client, req, "the job's identity", &got); err != nil {
			return "", err
		}
		id = got.Value
	}
	form := url.Values{"grant_type": {exchangeGrant}, "subject_token": {id}, "subject_token_type": {idTokenType}, "resource": {"datasets/" + repository}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(endpoint, "/")+"/oauth/token", strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var got struct {
		Token string `json:"access_token"`
	}
	if err := tokenCall(client, req, "a token for datasets/"+repository, &got); err != nil {
		return "", err
	}
	if got.Token == "" {
		return "", fmt.Errorf("asking for a token for datasets/%s: the hub's answer has none", repository)
	}
	return got.Token, nil
}

// tokenCall makes a request whose answer holds a secret.
func tokenCall(client *http.Client, req *http.Request, what string, answer any) error {
	resp, err := client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // without the address, which may hold a secret
		}
		return fmt.Errorf("asking %s for %s: %w", req.URL.Host, what, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("asking %s for %s: %w", req.URL.Host, what, err)
	}
	if resp.StatusCode != http.StatusOK {
		var told struct {
			Error       string `json:"error"`
			Description string `json:"error_description"`
		}
		_ = json.Unmarshal(body, &told) // what it says, if it says it so
		return fmt.Errorf("asking %s for %s: %s %s %s", req.URL.Host, what, resp.Status, told.Error, told.Description)
	}
	if err := json.Unmarshal(body, answer); err != nil {
		return fmt.Errorf("asking %s for %s: the answer is no JSON", req.URL.Host, what)
	}
	return nil
}
