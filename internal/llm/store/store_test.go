// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/retcon-bench/retcon/internal/llm"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("RETCON_TEST_STORE_CHILD"); path != "" {
		child(path)
		return
	}
	tailMax = 2000
	goleak.VerifyTestMain(m)
}

func open(t testing.TB, path string, opts Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func key(i int) llm.Key { return sha256.Sum256(fmt.Appendf(nil, "key %d", i)) }

func record(i int) llm.Record {
	return llm.Record{
		Key: key(i), Stage: fmt.Sprintf("stage%d", i%3), Model: "m", TemplateHash: "t", Params: "{}", Sample: i % 2, Class: llm.OK,
		Answer: llm.Answer{
			Text: strings.Repeat(fmt.Sprintf("The lamp %d was red. ", i), 1+i%40), FinishReason: "stop",
			Usage: llm.Usage{PromptTokens: i, CompletionTokens: 7}, Headers: map[string]string{"x-request-id": fmt.Sprint(i)},
			LogProbs: []byte(`{"content":[]}`),
		},
	}
}

func putAll(t testing.TB, s *Store, from, to int) {
	t.Helper()
	var wg sync.WaitGroup
	const workers = 64
	for w := range workers {
		wg.Go(func() {
			for i := from + w; i < to; i += workers {
				if err := s.Put(context.Background(), record(i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func has(t testing.TB, s *Store, i int) bool {
	t.Helper()
	got, ok, err := s.Get(context.Background(), key(i))
	if err != nil {
		t.Fatal(err)
	}
	if ok && !reflect.DeepEqual(got, record(i)) {
		t.Fatalf("record %d came back as %+v", i, got)
	}
	return ok
}

// What was put is there: at once, after the index took it over, after opening
// again, and for a reader beside.
func TestPutGet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a #?%", "answers.db")
	s := open(t, path, Options{})
	n := tailMax + 5000 // the tail is moved once on the way
	putAll(t, s, 0, n)
	for _, i := range []int{0, 1, 77, tailMax, n - 1} {
		if !has(t, s, i) {
			t.Errorf("%d is not there", i)
		}
	}
	if has(t, s, n) {
		t.Error("one too many")
	}
	reader := open(t, path, Options{ReadOnly: true})
	if !has(t, reader, 5) || !has(t, reader, n-1) {
		t.Error("a reader beside does not see the answers")
	}
	if err := reader.Put(t.Context(), record(0)); llm.StopClassOf(err) != llm.StopDisk {
		t.Errorf("a reader wrote: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), record(0)); err == nil {
		t.Error("put after close")
	}
	s = open(t, path, Options{})
	if len(s.tail) != 0 {
		t.Errorf("%d keys outside the index after a clean end", len(s.tail))
	}
	for i := range n {
		if i%97 == 0 && !has(t, s, i) {
			t.Errorf("%d is not there after opening again", i)
		}
	}
	labels, err := s.Labels(t.Context())
	if err != nil || len(labels) != 3 || labels[0].N+labels[1].N+labels[2].N != n {
		t.Errorf("labels %+v, %v", labels, err)
	}
}

// A newer record of a key replaces the older, wherever the two stand.
func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.db")
	refused := record(1)
	refused.Class, refused.Answer = llm.Refusal, llm.Answer{Refusal: "No."}
	put := func(s *Store, r llm.Record) {
		if err := s.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, path, Options{})
	put(s, refused)
	put(s, record(1)) // both outside the index
	put(s, refused)
	s.Close()
	s = open(t, path, Options{})
	if got, _, _ := s.Get(t.Context(), key(1)); got.Class != llm.Refusal {
		t.Errorf("class %s", got.Class)
	}
	put(s, record(1)) // one inside, one outside
	if !has(t, s, 1) {
		t.Error("not there")
	}
	var all []llm.Record
	if err := s.Each(t.Context(), func(r llm.Record) error { all = append(all, r); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 || all[0].Class != llm.OK {
		t.Errorf("%d records: %+v", len(all), all)
	}
	labels, _ := s.Labels(t.Context())
	if len(labels) != 1 || labels[0].N != 1 {
		t.Errorf("labels %+v", labels)
	}
}

// Two keys with one hash: both are kept and found.
func TestHashCollision(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.db")
	s := open(t, path, Options{})
	var keys []llm.Key
	for i := range 3 {
		k := key(1)
		k[31] ^= byte(i)
		keys = append(keys, k)
		r := record(1)
		r.Key = k
		r.Answer.Text = fmt.Sprint(i)
		if err := s.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if i == 1 { // one of them comes into the index later
			if err := s.flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 2 {
		for i, k := range keys {
			if got, ok, err := s.Get(t.Context(), k); err != nil || !ok || got.Answer.Text != fmt.Sprint(i) {
				t.Errorf("%d: %+v, %v", i, got, err)
			}
		}
		found, err := s.Find(t.Context(), key(1).CustomID()[:10])
		if err != nil || len(found) != 3 {
			t.Errorf("found %d, %v", len(found), err)
		}
		if err := s.flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := s.Find(t.Context(), key(1).String()); err != nil || len(found) != 1 {
		t.Errorf("found %d by the whole key, %v", len(found), err)
	}
}

// New files have our page size; one of another size, as earlier versions made
// it, is read and written all the same.
func TestPageSize(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old.db")
	db, err := sql.Open("sqlite", old)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("PRAGMA page_size = 4096;" + schema + fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, Version)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{old: 4096, filepath.Join(dir, "new.db"): pageSize} {
		s := open(t, path, Options{})
		putAll(t, s, 0, 300)
		s.Close()
		s = open(t, path, Options{})
		var size int
		var mode string
		if err := errors.Join(s.db.QueryRow("PRAGMA page_size").Scan(&size), s.db.QueryRow("PRAGMA journal_mode").Scan(&mode)); err != nil {
			t.Fatal(err)
		}
		if size != want || mode != "wal" {
			t.Errorf("%s: pages of %d bytes, journal mode %s", filepath.Base(path), size, mode)
		}
		if !has(t, s, 0) || !has(t, s, 299) {
			t.Errorf("%s: answers are not there", filepath.Base(path))
		}
	}
}

// Closing while many put: each Put says the truth about its answer.
func TestCloseWhilePutting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.db")
	s := open(t, path, Options{})
	const workers = 2 * enough
	kept := make([]int, workers) // answers acknowledged to each
	some := make(chan struct{})
	var once sync.Once
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for {
				err := s.Put(context.Background(), record(w+workers*kept[w]))
				if err != nil {
					if !strings.Contains(err.Error(), "the store is closed") {
						t.Error(err)
					}
					return
				}
				if kept[w]++; kept[w] == 3 {
					once.Do(func() { close(some) })
				}
			}
		})
	}
	<-some
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	s = open(t, path, Options{})
	for w, n := range kept {
		for i := range n + 1 {
			if got := has(t, s, w+workers*i); got != (i < n) {
				t.Errorf("worker %d, answer %d of %d acknowledged: there %v", w, i, n, got)
			}
		}
	}
}

func TestGC(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.db")
	s := open(t, path, Options{})
	putAll(t, s, 0, 3000)
	n, err := s.GC(t.Context(), func(l llm.Label) bool { return l.Stage == "stage1" })
	if err != nil || n != 1000 {
		t.Fatalf("%d deleted, %v", n, err)
	}
	for i := range 30 {
		if got := has(t, s, i); got != (i%3 != 1) {
			t.Errorf("%d there: %v", i, got)
		}
	}
	putAll(t, s, 3000, 3010)
	s.Close()
	s = open(t, path, Options{})
	if !has(t, s, 0) || has(t, s, 1) || !has(t, s, 3009) {
		t.Error("after opening again")
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTwoProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.db")
	s := open(t, path, Options{})
	_, err := Open(t.Context(), path, Options{})
	if !errors.Is(err, ErrInUse) || llm.StopClassOf(err) != llm.StopDisk || !strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) {
		t.Fatalf("second opener: %v", err)
	}
	// One that waits gets it when the first is done.
	got := make(chan error)
	go func() {
		second, err := Open(t.Context(), path, Options{Wait: time.Minute})
		if err == nil {
			err = second.Close()
		}
		got <- err
	}()
	time.Sleep(150 * time.Millisecond)
	s.Close()
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage.db")
	if err := os.WriteFile(garbage, bytes.Repeat([]byte("no database "), 1000), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), garbage, Options{}); llm.StopClassOf(err) != llm.StopDisk || !strings.Contains(err.Error(), "garbage.db") {
		t.Errorf("garbage: %v", err)
	}
	newer := filepath.Join(dir, "newer.db")
	s := open(t, newer, Options{})
	s.Close()
	b, err := os.ReadFile(newer)
	if err != nil {
		t.Fatal(err)
	}
	b[63] = 9 // user_version, big-endian at 60
	if err := os.WriteFile(newer, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), newer, Options{}); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("newer: %v", err)
	}
	if _, err := Open(t.Context(), filepath.Join(dir, "none.db"), Options{ReadOnly: true}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading what is not there: %v", err)
	}
}

func TestDiskFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.db")
	s := open(t, path, Options{})
	putAll(t, s, 0, 100)
	err := s.do(t.Context(), func(ctx context.Context, c *sql.Conn) error {
		_, err := c.ExecContext(ctx, "PRAGMA max_page_count = 40")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	stored := 0
	var full error
	for i := 100; i < 100_000 && full == nil; i++ {
		if full = s.Put(t.Context(), record(i)); full == nil {
			stored++
		}
	}
	if llm.StopClassOf(full) != llm.StopDisk || !strings.Contains(full.Error(), "disk is full") {
		t.Fatalf("after %d answers: %v", stored, full)
	}
	s.Close()
	s = open(t, path, Options{})
	for i := range 100 + stored {
		if !has(t, s, i) {
			t.Errorf("acknowledged answer %d is lost", i)
		}
	}
}

// A torn end of the write-ahead log, as a crash of the machine leaves it: every
// whole commit before is there, nothing is made up, and the store goes on.
func TestHalfWrittenTail(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "answers.db")
	s := open(t, path, Options{})
	const n = 200
	for i := range n {
		if err := s.Put(t.Context(), record(i)); err != nil {
			t.Fatal(err)
		}
	}
	db, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wal, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	lost := 0
	for try := range 20 {
		torn := filepath.Join(dir, fmt.Sprint(try), "answers.db")
		if err := os.MkdirAll(filepath.Dir(torn), 0o755); err != nil {
			t.Fatal(err)
		}
		cut := append([]byte(nil), wal[:len(wal)*3/4+rng.IntN(len(wal)/4)]...)
		if try%2 == 0 { // garbage in place of the last bytes
			for i := len(cut) - 100; i < len(cut); i++ {
				cut[i] ^= 0x55
			}
		}
		if err := errors.Join(os.WriteFile(torn, db, 0o644), os.WriteFile(torn+"-wal", cut, 0o644)); err != nil {
			t.Fatal(err)
		}
		s := open(t, torn, Options{})
		there := 0
		for i := range n {
			ok := has(t, s, i)
			if ok && i > there {
				t.Errorf("try %d: %d is there, %d is not", try, i, there)
			}
			if ok {
				there++
			}
		}
		if there < n/2 {
			t.Errorf("try %d: only %d of %d answers", try, there, n)
		}
		lost += n - there
		if err := s.Put(t.Context(), record(n)); err != nil || !has(t, s, n) {
			t.Errorf("try %d: %v", try, err)
		}
		s.Close()
	}
	if lost == 0 {
		t.Error("nothing was ever torn off: the test tests nothing")
	}
}

// child puts answers and says which ones were acknowledged, until it is killed.
func child(path string) {
	s, err := Open(context.Background(), path, Options{Wait: 10 * time.Second})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	var mu sync.Mutex
	next := 0
	out := bufio.NewWriter(os.Stdout)
	for range 16 {
		go func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if _, ok, err := s.Get(context.Background(), key(i)); err != nil {
					fmt.Println("error:", err)
					os.Exit(1)
				} else if ok {
					continue
				}
				if err := s.Put(context.Background(), record(i)); err != nil {
					fmt.Println("error:", err)
					os.Exit(1)
				}
				mu.Lock()
				fmt.Fprintln(out, i)
				out.Flush()
				mu.Unlock()
			}
		}()
	}
	select {}
}

// kill -9 at random moments: what was acknowledged is there. The long form is
// scripts/bench/llm/kill.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.db")
	rng := rand.New(rand.NewPCG(3, 4))
	acked := map[int]bool{}
	for range 6 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "RETCON_TEST_STORE_CHILD="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Duration(50+rng.IntN(300))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var i int
			if _, err := fmt.Sscan(lines.Text(), &i); err != nil {
				if strings.HasPrefix(lines.Text(), "error") {
					t.Fatal(lines.Text())
				}
				continue // a line cut by the kill
			}
			acked[i] = true
		}
		_ = cmd.Wait()
	}
	s := open(t, path, Options{})
	for i := range acked {
		if !has(t, s, i) {
			t.Errorf("acknowledged answer %d is lost", i)
		}
	}
	t.Logf("%d answers acknowledged", len(acked))
	if len(acked) == 0 {
		t.Error("nothing was ever acknowledged: the test tests nothing")
	}
}

func TestAskedAndAnswered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.db")
	s := open(t, path, Options{})
	if err := s.Ask(t.Context(), []llm.Record{record(1), record(2), record(1)}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = open(t, path, Options{})
	if err := s.Put(t.Context(), record(1)); err != nil {
		t.Fatal(err)
	}
	pending, err := s.Pending(t.Context())
	if err != nil || len(pending) != 1 || pending[0].Key != key(2) || pending[0].Stage != "stage2" {
		t.Errorf("%+v, %v", pending, err)
	}
	if labels, _ := s.Labels(t.Context()); len(labels) != 1 {
		t.Errorf("requests that nobody answered count as answers: %+v", labels)
	}
}

func BenchmarkPut(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s, err := Open(b.Context(), filepath.Join(b.TempDir(), "answers.db"), Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			words := strings.Fields("the old keeper lit lamp at dusk and nobody on quay saw him go then she turned back to sea")
			rng := rand.New(rand.NewPCG(1, 1))
			text := ""
			for len(text) < size+4096 {
				text += words[rng.IntN(len(words))] + " "
			}
			b.SetBytes(int64(size))
			b.SetParallelism(1000)
			var mu sync.Mutex
			n := 0
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					mu.Lock()
					i := n
					n++
					mu.Unlock()
					at := i * 37 % 4096
					rec := llm.Record{Key: key(i), Stage: "s", Model: "m", Params: "{}", Class: llm.OK,
						Answer: llm.Answer{Text: text[at : at+size], FinishReason: "stop", Usage: llm.Usage{PromptTokens: i, CompletionTokens: 300}}}
					if err := s.Put(context.Background(), rec); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
