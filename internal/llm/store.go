// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
)

// Record is what a store holds of one request.
type Record struct {
	Key          Key
	Stage        string
	Model        string
	Revision     string
	Sample       int
	TemplateHash string
	Params       string  // JSON of Params
	Class        Outcome // OK for an answer; else why there is none
	Answer       Answer

	cached bool
	reason string
	made   *classified // when this process classified the answer already
}

// classified is what Classify returned.
type classified struct {
	reply   *Reply
	outcome Outcome
	reason  string
}

func newRecord(key Key, req Request) Record {
	params, err := json.Marshal(req.Params)
	if err != nil { // a Schema that is no JSON; the engine will say so
		params = nil
	}
	return Record{
		Key: key, Stage: req.Stage, Model: req.Model, Revision: req.Revision, Sample: req.Sample,
		TemplateHash: req.TemplateHash, Params: string(params), Class: OK,
	}
}

// NewRecord returns the record of a request without its answer: what a batch
// writes down before anybody answered.
func NewRecord(req Request) Record { return newRecord(req.Key(), req) }

// Store keeps answers. Put returns after the record is durable; a later Put of
// the same key replaces the record. Both are safe for concurrent use.
type Store interface {
	Get(ctx context.Context, key Key) (Record, bool, error)
	Put(ctx context.Context, rec Record) error
}

// MemStore is a store in memory, for tests and for runs that keep nothing. Its
// zero value is ready to use.
type MemStore struct {
	mu    sync.Mutex
	recs  map[Key]Record
	asked map[Key]Record
}

// Get returns the record of key.
func (s *MemStore) Get(_ context.Context, key Key) (Record, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.recs[key]
	return r, ok, nil
}

// Put keeps the record.
func (s *MemStore) Put(_ context.Context, rec Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recs == nil {
		s.recs = map[Key]Record{}
	}
	s.recs[rec.Key] = rec
	delete(s.asked, rec.Key)
	return nil
}

// Len returns the number of records.
func (s *MemStore) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.recs)
}

// Each calls f with every record, in the order of their keys.
func (s *MemStore) Each(_ context.Context, f func(Record) error) error {
	s.mu.Lock()
	recs := sorted(s.recs)
	s.mu.Unlock()
	for _, r := range recs {
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

// Ask writes down requests that were handed to a batch.
func (s *MemStore) Ask(_ context.Context, recs []Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = map[Key]Record{}
	}
	for _, r := range recs {
		s.asked[r.Key] = r
	}
	return nil
}

// Pending returns the requests that were handed to a batch and have no answer.
func (s *MemStore) Pending(context.Context) ([]Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sorted(s.asked), nil
}

func sorted(m map[Key]Record) []Record {
	out := slices.Collect(maps.Values(m))
	slices.SortFunc(out, func(a, b Record) int { return slices.Compare(a.Key[:], b.Key[:]) })
	return out
}
