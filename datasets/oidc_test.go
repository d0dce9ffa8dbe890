// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A job's identity becomes a token for one repository; secrets stay out of
// errors.
func TestHubToken(t *testing.T) {
	const pass, identity = "job-pass-1234567", "identity-7654321"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/id":
			if r.Header.Get("Authorization") != "bearer "+pass || r.URL.Query().Get("audience") != "https://huggingface.co" || r.URL.Query().Get("v") != "2" {
				http.Error(w, "no", http.StatusForbidden)
				return
			}
			fmt.Fprintf(w, `{"value":%q}`, identity)
		case "/oauth/token":
			if r.FormValue("subject_token") != identity || r.FormValue("resource") != "datasets/lamp/tales" || !strings.HasSuffix(r.FormValue("grant_type"), ":token-exchange") || !strings.HasSuffix(r.FormValue("subject_token_type"), ":id_token") {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, `{"error":"invalid_grant","error_description":"no publisher matches"}`)
				return
			}
			fmt.Fprint(w, `{"access_token":"for-an-hour","expires_in":3600}`)
		}
	}))
	defer s.Close()
	for _, c := range []struct {
		name, want, fails string
		env               map[string]string
	}{
		{"a token wins", "mine", "", map[string]string{"HF_TOKEN": "mine", "HF_OIDC_ID_TOKEN": identity}},
		{"an identity", "for-an-hour", "", map[string]string{"HF_OIDC_ID_TOKEN": identity}},
		{"a job", "for-an-hour", "", map[string]string{"ACTIONS_ID_TOKEN_REQUEST_URL": s.URL + "/id?v=2", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": pass}},
		{"a job that may not", "", "403", map[string]string{"ACTIONS_ID_TOKEN_REQUEST_URL": s.URL + "/id?v=2", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "other-pass-999"}},
		{"another identity", "", "invalid_grant no publisher matches", map[string]string{"HF_OIDC_ID_TOKEN": "other-identity-9"}},
		{"nothing", "", ErrNoToken.Error(), nil},
		{"half a job", "", ErrNoToken.Error(), map[string]string{"ACTIONS_ID_TOKEN_REQUEST_URL": s.URL}},
	} {
		got, err := HubToken(context.Background(), func(k string) string { return c.env[k] }, s.URL, "lamp/tales", s.Client())
		if got != c.want || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
		for k, v := range c.env {
			if err != nil && strings.Contains(k, "TOKEN") && !strings.HasSuffix(k, "URL") && strings.Contains(err.Error(), v) {
				t.Errorf("%s: the error tells %s", c.name, k)
			}
		}
	}
	if _, err := HubToken(context.Background(), func(string) string { return "" }, s.URL, "a/b", nil); !errors.Is(err, ErrNoToken) {
		t.Error(err)
	}
}
