// SPDX-License-Identifier: Apache-2.0

// Command llm measures the model boundary. run.sh beside it runs all parts and
// sets them beside Python; alone:
//
//	go run ./scripts/bench/llm serve            a loopback server, prints its URL
//	go run ./scripts/bench/llm client -url URL  calls per CPU second
//	go run ./scripts/bench/llm memory           bytes of a call in flight, 2,000 at a time
//	go run ./scripts/bench/llm store -dir DIR   durable answers against one commit a row
//	go run ./scripts/bench/llm million -dir DIR opening a store of a million answers
//	go run ./scripts/bench/llm storm            60 s of 429, then all is answered
package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/llmtest"
	"github.com/retcon-bench/retcon/internal/llm/openai"
	"github.com/retcon-bench/retcon/internal/llm/store"
	"github.com/retcon-bench/retcon/internal/pipeline"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: llm serve|client|memory|store|million|storm [flags]")
		os.Exit(2)
	}
	fs := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	url := fs.String("url", "", "base URL")
	calls := fs.Int("calls", 20_000, "calls")
	path := fs.String("store", "", "keep answers in this store")
	dir := fs.String("dir", os.TempDir(), "folder for stores")
	n := fs.Int("n", 2000, "calls in flight")
	_ = fs.Parse(os.Args[2:])
	defer pipeline.HeapFloor(32 << 20)() // as cmd/retcon has it
	var err error
	switch os.Args[1] {
	case "serve":
		err = serve()
	case "client":
		err = client(*url, *calls, *path)
	case "memory":
		err = memory(*n)
	case "hold":
		err = hold(*url, *n)
	case "store":
		err = storeRate(*dir)
	case "million":
		err = million(*dir)
	case "storm":
		err = storm()
	default:
		err = fmt.Errorf("unknown: %s", os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const prompt = "The old keeper lit the lamp at dusk, and nobody on the quay saw him go. "

var (
	longPrompt = strings.Repeat(prompt, 40)[:2000]
	longAnswer = strings.Repeat("Then he walked along the sand — slowly — and said “no” twice. ", 40)[:1300]
)

// serve answers every request with 1.3 KB, as cheaply as it can.
func serve() error {
	body := fmt.Appendf(nil, `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%q,"refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":480,"completion_tokens":300,"total_tokens":780},"system_fingerprint":"fp"}`, longAnswer)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/v1\n", l.Addr())
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		buf := make([]byte, 4096)
		for {
			if _, err := r.Body.Read(buf); err != nil {
				break
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	}))
}

func request(i int) llm.Request {
	return llm.Request{Stage: "bench", Model: "m", Params: llm.Params{Temperature: llm.Float(0), MaxTokens: 500},
		Messages: []llm.Message{{Role: "system", Content: "Answer briefly."}, {Role: "user", Content: fmt.Sprint(i, " ", longPrompt)}}}
}

func newClient(url string, concurrency int, st llm.Store) (*llm.Client, error) {
	models := []llm.Model{{Name: "m"}}
	e, err := openai.New(openai.Config{BaseURL: url, Key: "k", Models: models})
	if err != nil {
		return nil, err
	}
	return llm.New(llm.Options{Engine: e, Models: models, Concurrency: concurrency, Store: st})
}

func askAll(c *llm.Client, from, to, workers int) error {
	var next atomic.Int64
	next.Store(int64(from))
	var wg sync.WaitGroup
	var failed atomic.Pointer[error]
	for range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= to {
					return
				}
				ex, err := c.Ask(context.Background(), request(i))
				if err == nil && (ex.Reply == nil || len(ex.Reply.Text) < 1000) {
					err = fmt.Errorf("call %d: %s %s", i, ex.Outcome, ex.Reason)
				}
				if err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// client measures the whole boundary: key, classification, scheduling, HTTP,
// decoding, and with a store the commit of each answer.
func client(url string, calls int, path string) error {
	name := "retcon"
	var st llm.Store
	if path != "" {
		s, err := store.Open(context.Background(), path, store.Options{})
		if err != nil {
			return err
		}
		defer s.Close()
		st, name = s, "retcon+store"
	}
	c, err := newClient(url, 64, st)
	if err != nil {
		return err
	}
	if err := askAll(c, 0, 200, 64); err != nil {
		return err
	}
	began, wall := cpu(), time.Now()
	if err := askAll(c, 200, 200+calls, 64); err != nil {
		return err
	}
	fmt.Printf("%s %.0f calls/CPU-second, %.0f calls/s\n", name, float64(calls)/(cpu()-began).Seconds(), float64(calls)/time.Since(wall).Seconds())
	return nil
}

// memory lets n calls wait in the server at once and looks at the resident size
// of the process that made them.
func memory(n int) error {
	var waiting atomic.Int32
	all := make(chan struct{})
	var once sync.Once
	release := make(chan struct{})
	s := llmtest.NewServer(func(c llmtest.Chat) llm.Answer {
		if strings.HasPrefix(c.Prompt(), "first") {
			return llm.Answer{Text: longAnswer, FinishReason: "stop"}
		}
		if int(waiting.Add(1)) == n {
			once.Do(func() { close(all) })
		}
		<-release
		return llm.Answer{Text: longAnswer, FinishReason: "stop"}
	})
	s.Keep(false)
	defer s.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "hold", "-url", s.URL, "-n", fmt.Sprint(n))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	buf := make([]byte, 1)
	if _, err := out.Read(buf); err != nil { // one call is done, the rest begins
		return err
	}
	before := rss(cmd.Process.Pid)
	<-all
	held := rss(cmd.Process.Pid)
	close(release)
	if err := cmd.Wait(); err != nil {
		return err
	}
	per := (held - before) / n
	fmt.Printf("memory: %d calls in flight, %d bytes each (request %d, answer %d, limit %d); %d MB before, %d MB held\n",
		n, per, len(longPrompt), len(longAnswer), len(longPrompt)+len(longAnswer)+64<<10, before>>20, held>>20)
	return nil
}

func hold(url string, n int) error {
	c, err := newClient(url, n, &llm.MemStore{})
	if err != nil {
		return err
	}
	r := request(0)
	r.Messages[1].Content = "first " + r.Messages[1].Content
	if _, err := c.Ask(context.Background(), r); err != nil {
		return err
	}
	runtime.GC()
	fmt.Print(".")
	time.Sleep(300 * time.Millisecond) // the parent looks at us now
	return askAll(c, 1, n+1, n)
}

// rss returns the resident bytes of a process (Linux).
func rss(pid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var size, resident int
	if _, err := fmt.Sscan(string(b), &size, &resident); err != nil {
		return 0
	}
	return resident * os.Getpagesize()
}

func key(i int) llm.Key { return sha256.Sum256(binary.AppendUvarint(nil, uint64(i))) }

// text returns prose of size bytes that differs by i and compresses like prose
// of few words.
func text(size int) func(i int) string {
	words := strings.Fields(strings.Repeat(prompt, 1) + " red sea wind harbour stone never again she turned back to where the boats lay under a thin moon")
	rng := rand.New(rand.NewPCG(1, 1))
	var b strings.Builder
	for b.Len() < size+8192 {
		b.WriteString(words[rng.IntN(len(words))] + " ")
	}
	s := b.String()
	return func(i int) string { at := i * 37 % 8192; return s[at : at+size] }
}

// storeRate sets durable answers, put by 2,000 workers, beside one commit a
// row, in turns.
func storeRate(dir string) error {
	for _, size := range []int{1 << 10, 16 << 10} {
		t := text(size)
		var ratio, ours, mb float64
		const rounds = 3
		for round := range rounds {
			one, err := oneCommitARow(filepath.Join(dir, fmt.Sprintf("one-%d-%d.db", size, round)), 2000, t)
			if err != nil {
				return err
			}
			n := 400_000_000 / (size + 1000)
			n = min(n, 200_000)
			used := cpu()
			rate, err := putRate(filepath.Join(dir, fmt.Sprintf("store-%d-%d.db", size, round)), n, t)
			if err != nil {
				return err
			}
			used = cpu() - used // what a machine that is busy elsewhere does not change
			fmt.Printf("store: %d bytes: one commit a row %.0f/s, ours %.0f/s = %.1f MB/s, ratio %.1f; %.0f answers, %.1f MB a CPU second\n",
				size, one, rate, rate*float64(size)/1e6, rate/one, float64(n)/used.Seconds(), float64(n*size)/1e6/used.Seconds())
			ratio, ours, mb = ratio+rate/one/rounds, ours+rate/rounds, mb+rate*float64(size)/1e6/rounds
		}
		fmt.Printf("store: %d bytes: mean %.0f answers/s, %.1f MB/s, ratio %.1f\n", size, ours, mb, ratio)
	}
	return nil
}

func oneCommitARow(path string, n int, t func(int) string) (float64, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return 0, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE a (key BLOB PRIMARY KEY, value TEXT)"); err != nil {
		return 0, err
	}
	st, err := db.Prepare("INSERT INTO a VALUES (?,?)")
	if err != nil {
		return 0, err
	}
	defer st.Close()
	began := time.Now()
	for i := range n {
		k := key(i)
		if _, err := st.Exec(k[:], t(i)); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

func putRate(path string, n int, t func(int) string) (float64, error) {
	s, err := store.Open(context.Background(), path, store.Options{})
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := putAll(s, n, t); err != nil {
		return 0, err
	}
	d := time.Since(began)
	return float64(n) / d.Seconds(), s.Close()
}

func putAll(s *store.Store, n int, t func(int) string) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	for range 2000 {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				rec := llm.Record{Key: key(i), Stage: "bench", Model: "m", Params: "{}", Class: llm.OK,
					Answer: llm.Answer{Text: t(i), FinishReason: "stop", Usage: llm.Usage{PromptTokens: 480, CompletionTokens: 300}}}
				if err := s.Put(context.Background(), rec); err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// million fills a store with a million answers of 1 KiB and opens it: after a
// clean end, and as a kill leaves it.
func million(dir string) error {
	path := filepath.Join(dir, "million.db")
	s, err := store.Open(context.Background(), path, store.Options{})
	if err != nil {
		return err
	}
	const n = 1_000_000
	began := time.Now()
	if err := putAll(s, n, text(1<<10)); err != nil {
		return err
	}
	fmt.Printf("million: filled in %.1f s\n", time.Since(began).Seconds())
	// A copy of the files now is what a kill would leave.
	killed := filepath.Join(dir, "killed.db")
	for _, end := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + end)
		if err != nil {
			return err
		}
		if err := os.WriteFile(killed+end, b, 0o644); err != nil {
			return err
		}
	}
	if err := s.Close(); err != nil {
		return err
	}
	for _, p := range []string{path, killed} {
		began = time.Now()
		s, err := store.Open(context.Background(), p, store.Options{})
		if err != nil {
			return err
		}
		opened := time.Since(began)
		began = time.Now()
		const look = 20_000
		for i := range look {
			if _, ok, err := s.Get(context.Background(), key(i*49)); err != nil || !ok {
				return fmt.Errorf("answer %d: %v %w", i*49, ok, err)
			}
		}
		fmt.Printf("million: %s opened in %.3f s, %.0f lookups/s\n", filepath.Base(p), opened.Seconds(), look/time.Since(began).Seconds())
		if err := s.Close(); err != nil {
			return err
		}
	}
	return nil
}

// storm answers for two seconds, refuses for a minute, and answers again.
func storm() error {
	began := time.Now()
	var refused atomic.Int32
	s := llmtest.NewServer(func(c llmtest.Chat) llm.Answer {
		time.Sleep(20 * time.Millisecond)
		if d := time.Since(began); d > 2*time.Second && d < 62*time.Second {
			refused.Add(1)
			return llm.Answer{Error: &llm.CallError{Status: 429, Code: "rate_limit_exceeded", Message: "slow down"}}
		}
		return llm.Answer{Text: longAnswer, FinishReason: "stop"}
	})
	s.Keep(false)
	defer s.Close()
	c, err := newClient(s.URL, 64, &llm.MemStore{})
	if err != nil {
		return err
	}
	const n = 20_000
	if err := askAll(c, 0, n, 256); err != nil {
		return err
	}
	fmt.Printf("storm: %d calls answered in %.1f s, %d refused during 60 s of 429, %d requests in all\n", n, time.Since(began).Seconds(), refused.Load(), s.Count())
	return nil
}
