// SPDX-License-Identifier: Apache-2.0

package tellmeastory

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/ingest/internal/records/recordstest"
	"github.com/retcon-bench/retcon/schemas"
)

// All rows here are generated from the description of the formats. No row of
// STORIUM may be in a repository, and the open corpus is encrypted on purpose.

const gameJSON = `{
  "game_pid": "g1", "details": {"world": {"name": "The Drowned City", "x": 1}, "narrator_user_pid": "u1"},
  "cards": null,
  "characters": [{"character_seq_id": "c1", "name": "Mara", "description": null}, {"name": "lost"}, null, {"character_seq_id": "c2", "name": null}],
  "scenes": [
    {"entries": [
      {"seq_id": "1", "format": "establishment", "role": "narrator", "description": "The tide **rose**.\n\nIt was _late_.", "redacted": null},
      {"seq_id": "2", "format": "move", "role": "character:c1", "description": "Mara ran."},
      {"seq_id": "3", "format": "move", "role": "character:c2", "description": "Hidden.", "redacted": true},
      {"seq_id": "4", "format": "refresh", "role": "narrator", "description": "Cards."},
      {"seq_id": "5", "format": "addition", "role": "narrator", "description": null},
      {"seq_id": 6, "format": "move", "role": "character:c2", "description": "I waited."}
    ], "is_final": false, "is_ended": true},
    {"is_final": false}, null,
    {"entries": [{"seq_id": "7", "format": "conclusion", "role": "narrator", "description": "Morning came."}], "is_final": true, "is_ended": true}
  ]
}`

func TestGame(t *testing.T) {
	unfinished := strings.Replace(strings.Replace(gameJSON, `"is_final": true`, `"is_final": true, "y": 0`, 1), `"g1"`, `"g2"`, 1)
	unfinished = strings.Replace(unfinished, `"is_final": true, "y": 0, "is_ended": true`, `"is_final": true, "is_ended": null`, 1)
	files := map[string]string{
		"export/a/one.json":   gameJSON,
		"export/a/two.json":   unfinished,
		"export/b/three.json": strings.Replace(gameJSON, `"game_pid": "g1"`, `"game_pid": null`, 1),
		"export/b/four.json":  `{"game_pid": "g4", "scenes": [{"entries": [], "is_final": true, "is_ended": true}], "characters": "none"}`,
		"export/b/five.json":  `{"game_pid": "g5", "scenes": {"a": 1}}`,
		"export/b/six.json":   gameJSON[:200],
		"train_filenames.txt": "storium/a/one.json\nstorium/b/three.json\n",
		"agreement.md":        "# Terms\n",
	}
	want := `story tellmeastory:storium/g1
story tellmeastory:storium/export/b/three
- unfinished tellmeastory:storium/g2
- wrong_type tellmeastory:export/b/five.json:1
- empty tellmeastory:storium/g4
- bad_json tellmeastory:export/b/six.json:1
- other_file tellmeastory:agreement.md
rows 6 bad 2
`
	for name, root := range recordstest.Packed(t, files) {
		if strings.Contains(name, "tar") {
			continue // names below the archive's own folder differ by nothing else
		}
		r := recordstest.Read(t, Corpus, root, "")
		got := strings.ReplaceAll(r.Summary(), "all.zip/", "")
		if sorted(got) != sorted(want) {
			t.Fatalf("%s: got\n%s", name, got)
		}
		s := r.ByID["tellmeastory:storium/g1"]
		if s.Text != "The tide rose.\n\nIt was late.\n\nMara ran.\n\nI waited.\n\nMorning came." {
			t.Errorf("%s: %q", name, s.Text)
		}
		var ids []string
		for _, x := range s.Sections {
			ids = append(ids, x.ID+"="+string([]rune(s.Text)[x.Start:x.End]))
		}
		if got := strings.Join(ids, "|"); got != "1 narrator=The tide rose.\n\nIt was late.|2 Mara=Mara ran.|6 c2=I waited.|7 narrator=Morning came." {
			t.Errorf("%s: sections %q", name, got)
		}
		if s.Source.Redistribute != schemas.RedistributeIDs || s.Source.Licence != "agreement" || recordstest.Meta(s, "redistribute") != "never" ||
			recordstest.Meta(s, "split") != "train" || recordstest.Meta(s, "world") != "The Drowned City" || recordstest.Meta(s, "entries") != "4" {
			t.Errorf("%s: %+v %v", name, s.Source, s.Meta)
		}
	}
	r := recordstest.Read(t, Corpus, recordstest.Tree(t, files), `{"finished":false,"redacted":true,"formats":[],"markdown":"keep"}`)
	if s := r.ByID["tellmeastory:storium/g2"]; !strings.Contains(s.Text, "**rose**") || !strings.Contains(s.Text, "Hidden.") || !strings.Contains(s.Text, "Cards.") {
		t.Errorf("settings: %q", s.Text)
	}
}

func sorted(s string) string {
	l := strings.Split(s, "\n")
	m := map[string]int{}
	for _, x := range l {
		m[x]++
	}
	return fmt.Sprint(m)
}

const openRows = `{"example_id":"e1","inputs":"Write of a lamp.","targets":"Once a lamp.\n\nIt burned."}` + "\n" + `{"example_id":"e2","inputs":"x","targets":null}` + "\n"

func TestOpenCorpus(t *testing.T) {
	r := recordstest.Read(t, Corpus, recordstest.Tree(t, map[string]string{"tell-me-a-story-validation.jsonl": openRows}), `{"as":"both"}`)
	if got := r.Summary(); got != "story tellmeastory:open/e1\nquery tellmeastory:open/e1/prompt\n- missing_field tellmeastory:open/e2\nrows 2 bad 1\n" {
		t.Errorf("got\n%s", got)
	}
	s, q := r.Stories[0], r.Stories[1]
	if s.Source.Licence != "CC-BY-4.0" || s.Source.Redistribute != schemas.RedistributeDerived || recordstest.Meta(s, "split") != "validation" ||
		recordstest.Meta(s, "prompt") != "Write of a lamp." || q.Target != s.Text {
		t.Errorf("%+v", s)
	}
}

// TestFernetSpec is the token of the Fernet specification (verify.json).
func TestFernetSpec(t *testing.T) {
	key, err := parseKey([]byte("cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4="))
	if err != nil {
		t.Fatal(err)
	}
	got, err := fernet(key, []byte("gAAAAAAdwJ6wAAECAwQFBgcICQoLDA0ODy021cpGVWKZ_eEwCGM4BLLF_5CV9dOPmrhuVUPgJobwOz7JcbmrR64jVmpU4IwqDA=="))
	if err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestEncrypted makes files as the upstream's README describes them.
func TestEncrypted(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	raw := make([]byte, 32)
	rand.Read(raw)
	key := base64.URLEncoding.EncodeToString(raw)
	sealed, err := rsa.EncryptOAEP(sha256.New(), rand.Reader, &private.PublicKey, []byte(key), nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8 := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	pkcs1 := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)}))
	token := seal(t, raw, openRows)
	const file = "tell-me-a-story-test_encrypted.jsonl"
	damaged := []byte(token)
	// Another letter, which is one of base64 too.
	if damaged[60] != 'A' {
		damaged[60] = 'A'
	} else {
		damaged[60] = 'B'
	}
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string // in the reason why the file is set aside; empty: it is read
	}{
		{"both keys", map[string]string{file: token, "skey.key": string(sealed), "private_key.pem": pkcs8}, ""},
		{"PKCS 1, elsewhere", map[string]string{"a/" + file: token + "\n", "b/skey.key": string(sealed), "c/private_key.pem": pkcs1}, ""},
		{"a key that is open already", map[string]string{file: token, "skey.key": key + "\n"}, ""},
		{"no key", map[string]string{file: token}, "no *.key file was found; put skey.key and private_key.pem"},
		{"no private key", map[string]string{file: token, "skey.key": string(sealed)}, "no private key (private_key.pem) was found"},
		{"another key", map[string]string{file: token, "skey.key": base64.URLEncoding.EncodeToString(make([]byte, 32))}, "the signature is wrong"},
		{"damaged", map[string]string{file: string(damaged), "skey.key": key}, "the signature is wrong"},
	} {
		r := recordstest.Read(t, Corpus, recordstest.Tree(t, tt.files), "")
		if tt.want == "" {
			if len(r.Stories) != 1 || r.Stories[0].StoryID != "tellmeastory:open/e1" || len(r.Files) != 1 || r.Files[0].Bytes < 200 {
				t.Errorf("%s: %s %+v", tt.name, r.Summary(), r.Dropped)
			}
			continue
		}
		if len(r.Stories) != 0 || r.Bad != 1 || r.Dropped[0].Reason != ReasonKey || !strings.Contains(r.Dropped[0].Detail, tt.want) {
			t.Errorf("%s: %+v", tt.name, r.Dropped)
		}
	}
}

// seal makes a Fernet token.
func seal(t *testing.T, key []byte, plain string) string {
	t.Helper()
	block, err := aes.NewCipher(key[16:])
	if err != nil {
		t.Fatal(err)
	}
	pad := aes.BlockSize - len(plain)%aes.BlockSize
	body := append([]byte(plain), []byte(strings.Repeat(string(rune(pad)), pad))...)
	head := append([]byte{0x80, 0, 0, 0, 0, 0x67, 0, 0, 0}, []byte("0123456789abcdef")...)
	cipher.NewCBCEncrypter(block, head[9:]).CryptBlocks(body, body)
	signed := append(head, body...)
	mac := hmac.New(sha256.New, key[:16])
	mac.Write(signed)
	return base64.URLEncoding.EncodeToString(mac.Sum(signed))
}

func FuzzFernet(f *testing.F) {
	f.Add([]byte("gAAAAAAdwJ6wAAECAwQFBgcICQoLDA0ODy021cpGVWKZ_eEwCGM4BLLF_5CV9dOPmrhuVUPgJobwOz7JcbmrR64jVmpU4IwqDA=="))
	f.Add([]byte("gAAAAA"))
	f.Fuzz(func(t *testing.T, token []byte) {
		if got, err := fernet(make([]byte, 32), token); err == nil {
			t.Fatalf("a token without the key's signature gave %q", got)
		}
	})
}
