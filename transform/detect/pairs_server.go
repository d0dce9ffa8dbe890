// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/retcon-bench/retcon/internal/llm"
)

// Forms of a text-classification server's requests. Answers have one shape: a
// list of {label, score} for each pair.
const (
	// FormTEI is that of text-embeddings-inference: inputs is a list of
	// [premise, hypothesis], at .../predict.
	FormTEI = "tei"
	// FormPipeline is that of servers around a transformers pipeline (hosted
	// endpoints, torchserve handlers): inputs is a list of {text, text_pair},
	// parameters ask for all classes.
	FormPipeline = "pipeline"
)

// PairServerConfig says where a text-classification server is. It was written
// for DeBERTa-v3-large fine-tuned on MNLI (the paper's: 91 % on its
// development set); any classifier of pairs into entailment, neutral and
// contradiction will do.
type PairServerConfig struct {
	URL  string // of the classification route, such as http://localhost:8080/predict
	Form string // "" = FormTEI where the path ends in /predict, else FormPipeline
	Key  string // bearer token; from the environment only, in no error and no log
	// Model names the scorer in predictions; "" = as the server's /info says,
	// else "text-classification".
	Model string
	Batch int // pairs a request; 0 = 32. A server that takes less is asked for less
	// Labels are the classes in the order of the model's ids, for models that
	// call them LABEL_0, LABEL_1, LABEL_2.
	Labels []string
	Tries  int // attempts at a request; 0 = 5
	HTTP   *http.Client
	Log    *slog.Logger

	firstWait time.Duration // for tests; 0 = 500 ms
}

// PairServer asks a text-classification server. It is safe for use from many
// goroutines.
type PairServer struct {
	cfg    PairServerConfig
	host   string
	labels map[string]string
}

// The three classes.
const (
	classEntailment    = "entailment"
	classNeutral       = "neutral"
	classContradiction = "contradiction"
)

// NewPairServer checks the configuration and asks the server, if it is one that
// tells, for its model's name and the batch it takes.
func NewPairServer(ctx context.Context, cfg PairServerConfig) (*PairServer, error) {
	setting := func(format string, args ...any) error {
		return llm.Stop(llm.StopSetting, fmt.Errorf("text-classification server: "+format, args...))
	}
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		// The text of err repeats the address, which may hold a password.
		return nil, setting("its address is no http or https URL, such as http://localhost:8080/predict")
	}
	if cfg.Form == "" {
		cfg.Form = FormPipeline
		if strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/predict") {
			cfg.Form = FormTEI
		}
	}
	if cfg.Form != FormTEI && cfg.Form != FormPipeline {
		return nil, setting("form %q: want %s or %s", cfg.Form, FormTEI, FormPipeline)
	}
	if strings.ContainsFunc(cfg.Key, func(r rune) bool { return r < '!' || r > '~' }) {
		return nil, setting("the key has blanks or signs that no key has")
	}
	s := &PairServer{cfg: cfg, host: u.Host, labels: map[string]string{}}
	if len(cfg.Labels) > 0 {
		classes := map[string]bool{}
		for i, l := range cfg.Labels {
			class := classOf(l)
			if class == "" || classes[class] || len(cfg.Labels) != 3 {
				return nil, setting("labels %v: want entailment, neutral and contradiction, each once, in the order of the model's ids", cfg.Labels)
			}
			classes[class] = true
			s.labels["LABEL_"+strconv.Itoa(i)] = class
		}
	}
	s.cfg.Batch = cmp.Or(cfg.Batch, 32)
	s.cfg.Tries = cmp.Or(cfg.Tries, 5)
	s.cfg.firstWait = cmp.Or(cfg.firstWait, 500*time.Millisecond)
	if s.cfg.Batch < 1 || s.cfg.Tries < 1 {
		return nil, setting("batch and tries must be at least 1")
	}
	client := http.Client{Timeout: 5 * time.Minute}
	if cfg.HTTP != nil {
		client = *cfg.HTTP
	}
	// A redirected POST would become a GET, and the key go to another host.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.cfg.HTTP = &client
	if s.cfg.Log == nil {
		s.cfg.Log = slog.Default()
	}
	if s.cfg.Form == FormTEI {
		s.info(ctx, u)
	}
	s.cfg.Model = cmp.Or(s.cfg.Model, "text-classification")
	return s, nil
}

// info takes the model's name and the largest batch from a server that tells.
// One that does not is no fault: the first question shows what is wrong.
func (s *PairServer) info(ctx context.Context, u *url.URL) {
	at := *u
	at.Path = strings.TrimSuffix(strings.TrimRight(at.Path, "/"), "/predict") + "/info"
	at.RawQuery = ""
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return
	}
	s.authorise(req)
	res, err := s.cfg.HTTP.Do(req)
	if err != nil {
		return
	}
	defer res.Body.Close()
	var info struct {
		ModelID  string `json:"model_id"`
		ModelSHA string `json:"model_sha"`
		MaxBatch int    `json:"max_client_batch_size"`
	}
	if res.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&info) != nil {
		return
	}
	if s.cfg.Model == "" && info.ModelID != "" {
		s.cfg.Model = info.ModelID
		if info.ModelSHA != "" {
			s.cfg.Model += "@" + info.ModelSHA[:min(12, len(info.ModelSHA))]
		}
	}
	if info.MaxBatch > 0 {
		s.cfg.Batch = min(s.cfg.Batch, info.MaxBatch)
	}
}

func (s *PairServer) authorise(req *http.Request) {
	if s.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+s.cfg.Key)
	}
}

// Name is the model's.
func (s *PairServer) Name() string { return s.cfg.Model }

// ScorePairs asks batch by batch. What the server cannot do now is asked again
// with growing waits, as long as its Retry-After says; a batch that is too
// large is halved; anything else ends the run.
func (s *PairServer) ScorePairs(ctx context.Context, pairs []Pair) ([]PairScore, error) {
	out := make([]PairScore, 0, len(pairs))
	for len(pairs) > 0 {
		n := min(s.cfg.Batch, len(pairs))
		scores, err := s.batch(ctx, pairs[:n])
		if err != nil {
			return nil, err
		}
		out = append(out, scores...)
		pairs = pairs[n:]
	}
	return out, nil
}

// errTooLarge is the server's word that a request holds too many pairs.
var errTooLarge = errors.New("too many pairs in a request")

func (s *PairServer) batch(ctx context.Context, pairs []Pair) ([]PairScore, error) {
	body, err := s.body(pairs)
	if err != nil {
		return nil, err
	}
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = s.cfg.firstWait, 30*time.Second
	raw, err := backoff.Retry(ctx, func() ([]byte, error) { return s.post(ctx, body) },
		backoff.WithBackOff(wait), backoff.WithMaxTries(uint(s.cfg.Tries)), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, d time.Duration) {
			s.cfg.Log.Info("text-classification server, trying again", "wait", d.Round(time.Millisecond), "error", err)
		}))
	switch {
	case errors.Is(err, errTooLarge) && len(pairs) > 1:
		half := len(pairs) / 2
		first, err := s.batch(ctx, pairs[:half])
		if err != nil {
			return nil, err
		}
		rest, err := s.batch(ctx, pairs[half:])
		return append(first, rest...), err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case llm.StopClassOf(err) != "":
		return nil, err
	case err != nil:
		return nil, llm.Stop(llm.StopNetwork, fmt.Errorf("text-classification server: given up after %d attempts: %w", s.cfg.Tries, err))
	}
	scores, err := s.parse(raw, len(pairs))
	if err != nil {
		p := pairs[0]
		return nil, llm.Stop(llm.StopSetting, fmt.Errorf("text-classification server: answer to %d pairs of %s from sentences %d and %d on: %w", len(pairs), p.TextID, p.I, p.J, err))
	}
	return scores, nil
}

func (s *PairServer) body(pairs []Pair) ([]byte, error) {
	if s.cfg.Form == FormTEI {
		inputs := make([][2]string, len(pairs))
		for i, p := range pairs {
			inputs[i] = [2]string{p.Premise, p.Hypothesis}
		}
		return json.Marshal(struct {
			Inputs    [][2]string `json:"inputs"`
			RawScores bool        `json:"raw_scores"`
			Truncate  bool        `json:"truncate"` // a sentence may be longer than the model reads
		}{inputs, false, true})
	}
	type pair struct {
		Text     string `json:"text"`
		TextPair string `json:"text_pair"`
	}
	inputs := make([]pair, len(pairs))
	for i, p := range pairs {
		inputs[i] = pair{p.Premise, p.Hypothesis}
	}
	return json.Marshal(struct {
		Inputs     []pair         `json:"inputs"`
		Parameters map[string]any `json:"parameters"`
	}{inputs, map[string]any{"top_k": 3, "function_to_apply": "softmax", "truncation": true}})
}

// maxAnswer bounds an answer: a few hundred bytes a pair are much.
const maxAnswer = 16 << 20

// longestWait is the longest a server may ask to wait.
const longestWait = 5 * time.Minute

func (s *PairServer) post(ctx context.Context, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.URL, bytes.NewReader(body))
	if err != nil {
		return nil, backoff.Permanent(llm.Stop(llm.StopSetting, errors.New("text-classification server: its address cannot be asked")))
	}
	req.Header.Set("Content-Type", "application/json")
	s.authorise(req)
	res, err := s.cfg.HTTP.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, backoff.Permanent(ctx.Err())
		}
		var u *url.Error // it repeats the address, which may hold a password
		if errors.As(err, &u) {
			err = u.Err
		}
		return nil, fmt.Errorf("%s: %w", s.host, err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("%s: the answer breaks off: %w", s.host, err)
	}
	if res.StatusCode == http.StatusOK {
		if len(raw) > maxAnswer {
			return nil, backoff.Permanent(llm.Stop(llm.StopSetting, fmt.Errorf("text-classification server: answer of more than %d MiB", maxAnswer>>20)))
		}
		return raw, nil
	}
	err = fmt.Errorf("%s answers %s: %s", s.host, res.Status, s.complaint(raw))
	switch res.StatusCode {
	case http.StatusRequestEntityTooLarge:
		return nil, backoff.Permanent(llm.Stop(llm.StopSetting, fmt.Errorf("%w: %w", err, errTooLarge)))
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusFailedDependency,
		http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if after, aerr := strconv.Atoi(strings.TrimSpace(res.Header.Get("Retry-After"))); aerr == nil && after >= 0 {
			if d := time.Duration(after) * time.Second; d > longestWait {
				return nil, backoff.Permanent(llm.Stop(llm.StopNetwork, fmt.Errorf("%w; it asks to come back in %s", err, d)))
			}
			return nil, errors.Join(err, backoff.RetryAfter(after))
		}
		return nil, err
	}
	return nil, backoff.Permanent(llm.Stop(llm.StopSetting, err))
}

// complaint is what the server says is wrong, short and without our key.
func (s *PairServer) complaint(raw []byte) string {
	var e struct {
		Error  any `json:"error"`
		Detail any `json:"detail"`
	}
	msg := strings.Join(strings.Fields(string(raw)), " ")
	if json.Unmarshal(raw, &e) == nil {
		for _, v := range []any{e.Error, e.Detail} {
			if v != nil {
				msg = fmt.Sprint(v)
				break
			}
		}
	}
	if s.cfg.Key != "" {
		msg = strings.ReplaceAll(msg, s.cfg.Key, "[secret]")
	}
	if r := []rune(msg); len(r) > 300 {
		msg = string(r[:300]) + "…"
	}
	return msg
}

type labelled struct {
	Label *string  `json:"label"`
	Score *float64 `json:"score"`
}

// parse reads an answer to n pairs: a list of classes a pair; of one pair
// perhaps without the outer list; or only the first class of each.
func (s *PairServer) parse(raw []byte, n int) ([]PairScore, error) {
	var lists [][]labelled
	if err := json.Unmarshal(raw, &lists); err != nil {
		var flat []labelled
		if json.Unmarshal(raw, &flat) != nil {
			return nil, errors.New("it is no list of labels with scores")
		}
		if lists = nil; n == 1 {
			lists = [][]labelled{flat}
		} else {
			for i := range flat {
				lists = append(lists, flat[i:i+1])
			}
		}
	}
	if len(lists) != n {
		return nil, fmt.Errorf("it holds %d results", len(lists))
	}
	out := make([]PairScore, n)
	for i, list := range lists {
		nan := math.NaN()
		sc := PairScore{nan, nan, nan}
		for _, c := range list {
			if c.Label == nil || c.Score == nil {
				return nil, fmt.Errorf("result %d has a class without label or score", i+1)
			}
			var at *float64
			switch cmp.Or(s.labels[strings.ToUpper(*c.Label)], classOf(*c.Label)) {
			case classEntailment:
				at = &sc.Entailment
			case classNeutral:
				at = &sc.Neutral
			case classContradiction:
				at = &sc.Contradiction
			default:
				return nil, fmt.Errorf("label %q is none of entailment, neutral and contradiction: say which class LABEL_0, LABEL_1 and LABEL_2 are", *c.Label)
			}
			if !math.IsNaN(*at) {
				return nil, fmt.Errorf("result %d has the label %q twice", i+1, *c.Label)
			}
			*at = *c.Score
		}
		if err := sc.check(); err != nil {
			return nil, fmt.Errorf("result %d: %w", i+1, err)
		}
		out[i] = sc
	}
	return out, nil
}

// classOf reads the spellings of models: "CONTRADICTION", "Contradiction",
// "entails". "not_entailment" of two-class models is none.
func classOf(label string) string {
	l := strings.ToLower(strings.TrimSpace(label))
	switch {
	case strings.HasPrefix(l, "contradict"):
		return classContradiction
	case strings.HasPrefix(l, "entail"):
		return classEntailment
	case l == classNeutral:
		return classNeutral
	}
	return ""
}
