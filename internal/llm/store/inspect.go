// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/retcon-bench/retcon/internal/llm"
)

// Each calls f with every answer in the order in which they came, replaced ones
// left out. It reads one answer at a time.
func (s *Store) Each(ctx context.Context, f func(llm.Record) error) error {
	if !s.opts.ReadOnly {
		if err := s.flush(ctx); err != nil {
			return err
		}
	}
	rows, err := s.db.QueryContext(ctx, "SELECT id, key, label, sample, codec, value FROM answers ORDER BY id")
	if err != nil {
		return s.wrap("reading", err)
	}
	defer rows.Close()
	for rows.Next() {
		rec, id, err := s.read(rows.Scan)
		if err != nil {
			return s.wrap("reading", err)
		}
		s.mu.RLock()
		newest, inTail := s.tail[rec.Key]
		s.mu.RUnlock()
		if inTail && newest != id {
			continue
		}
		if err := f(rec); err != nil {
			return err
		}
	}
	return s.wrap("reading", rows.Err())
}

// flush brings idx up to date.
func (s *Store) flush(ctx context.Context) error {
	return s.do(ctx, func(ctx context.Context, conn *sql.Conn) error {
		w := &writer{s: s, conn: conn}
		defer w.close()
		return s.wrap("indexing", w.index(ctx))
	})
}

// Find returns the answers whose key begins with the hexadecimal digits, such
// as the custom_id of a batch line, in the order of their keys.
func (s *Store) Find(ctx context.Context, prefix string) ([]llm.Record, error) {
	prefix = strings.ToLower(prefix)
	if strings.Trim(prefix, "0123456789abcdef") != "" || prefix == "" || len(prefix) > 64 {
		return nil, fmt.Errorf("answer %q: want up to 64 hexadecimal digits", prefix)
	}
	keys := map[llm.Key]bool{}
	s.mu.RLock()
	for k := range s.tail {
		if strings.HasPrefix(k.String(), prefix) {
			keys[k] = true
		}
	}
	s.mu.RUnlock()
	// The places of such keys are one range, plus those that had to move on.
	const moved = 16
	head := (prefix + strings.Repeat("0", 16))[:16]
	low, err := strconv.ParseUint(head, 16, 64)
	if err != nil {
		return nil, err
	}
	high, err := strconv.ParseUint((prefix + strings.Repeat("f", 16))[:16], 16, 64)
	if err != nil {
		return nil, err
	}
	rows, err := s.db.QueryContext(ctx, "SELECT a.key FROM idx JOIN answers a ON a.id = idx.id WHERE idx.h BETWEEN ? AND ?", int64(low), int64(high)+moved)
	if err != nil {
		return nil, s.wrap("reading", err)
	}
	defer rows.Close()
	for rows.Next() {
		var raw []byte
		if err := rows.Scan(&raw); err != nil {
			return nil, s.wrap("reading", err)
		}
		k, err := keyOf(raw)
		if err != nil {
			return nil, s.wrap("reading", err)
		}
		if strings.HasPrefix(k.String(), prefix) {
			keys[k] = true
		}
	}
	if err := rows.Err(); err != nil {
		return nil, s.wrap("reading", err)
	}
	var out []llm.Record
	for _, k := range slices.SortedFunc(maps.Keys(keys), func(a, b llm.Key) int { return slices.Compare(a[:], b[:]) }) {
		rec, ok, err := s.Get(ctx, k)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, rec)
		}
	}
	return out, nil
}

// GC deletes the answers whose label drop accepts, gives their room back to
// the disk, and returns how many they were. While it works other answers may
// seem not to be there, so nobody should ask.
func (s *Store) GC(ctx context.Context, drop func(llm.Label) bool) (int, error) {
	total := 0
	err := s.do(ctx, func(ctx context.Context, conn *sql.Conn) error {
		w := &writer{s: s, conn: conn}
		defer w.close()
		if err := w.index(ctx); err != nil {
			return s.wrap("indexing", err)
		}
		var ids []int64
		s.mu.RLock()
		for id, l := range s.labels {
			if l.N > 0 && drop(*l) {
				ids = append(ids, id)
			}
		}
		s.mu.RUnlock()
		slices.Sort(ids)
		err := transact(ctx, conn, func() error {
			for _, id := range ids {
				res, err := conn.ExecContext(ctx, "DELETE FROM answers WHERE label = ?", id)
				if err != nil {
					return err
				}
				n, err := res.RowsAffected()
				if err != nil {
					return err
				}
				total += int(n)
				if _, err := conn.ExecContext(ctx, "UPDATE labels SET n = 0 WHERE id = ?", id); err != nil {
					return err
				}
			}
			// A gap in idx would end the search for a key that was moved on, so
			// idx is made anew.
			if _, err := conn.ExecContext(ctx, "DELETE FROM idx"); err != nil {
				return err
			}
			_, err := conn.ExecContext(ctx, "UPDATE meta SET value = 0 WHERE name = 'indexed'")
			return err
		})
		if err != nil {
			total = 0
			return s.wrap("deleting answers", err)
		}
		s.mu.Lock()
		for _, id := range ids {
			s.labels[id].N = 0
		}
		s.indexed = 0
		s.mu.Unlock()
		if err := s.reindex(ctx, conn); err != nil {
			return s.wrap("indexing", err)
		}
		_, err = conn.ExecContext(ctx, "VACUUM")
		return s.wrap("giving room back", err)
	})
	return total, err
}

// reindex fills idx from answers, a part at a time.
func (s *Store) reindex(ctx context.Context, conn *sql.Conn) error {
	for {
		rows, err := conn.QueryContext(ctx, "SELECT id, key FROM answers WHERE id > ? ORDER BY id LIMIT ?", s.indexed, tailMax)
		if err != nil {
			return err
		}
		tail := map[llm.Key]int64{}
		last := int64(0)
		for rows.Next() {
			var raw []byte
			if err := rows.Scan(&last, &raw); err != nil {
				rows.Close()
				return err
			}
			k, err := keyOf(raw)
			if err != nil {
				rows.Close()
				return err
			}
			tail[k] = last
		}
		rows.Close()
		if err := rows.Err(); err != nil {
			return err
		}
		if len(tail) == 0 {
			return nil
		}
		s.mu.Lock()
		s.tail, s.last = tail, max(s.last, last)
		top := s.last
		s.last = last
		s.mu.Unlock()
		w := &writer{s: s, conn: conn}
		err = w.index(ctx)
		w.close()
		s.mu.Lock()
		s.last = top
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// Check reads everything and reports the first damage.
func (s *Store) Check(ctx context.Context) error {
	var verdict string
	if err := s.db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return s.wrap("checking", err)
	}
	if verdict != "ok" {
		return s.wrap("checking", fmt.Errorf("%s", verdict))
	}
	return s.Each(ctx, func(llm.Record) error { return nil })
}

// Ask writes down requests that were handed to a batch: Pending knows them
// until their answers are put.
func (s *Store) Ask(ctx context.Context, recs []llm.Record) error {
	return s.do(ctx, func(ctx context.Context, conn *sql.Conn) error {
		made := map[llm.Label]int64{}
		err := transact(ctx, conn, func() error {
			for _, rec := range recs {
				rec.Class = llm.Pending
				label, err := makeLabel(ctx, s, conn, labelOf(rec), made)
				if err != nil {
					return err
				}
				if _, err := conn.ExecContext(ctx, "INSERT INTO asked (key, label, sample) VALUES (?,?,?) ON CONFLICT DO UPDATE SET label = excluded.label", rec.Key[:], label, rec.Sample); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return s.wrap("writing requests", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for l, id := range made {
			s.keepLabel(id, l)
		}
		for _, rec := range recs {
			s.waiting[rec.Key] = true
		}
		return nil
	})
}

// Pending returns the requests that were handed to a batch and have no answer,
// in the order of their keys.
func (s *Store) Pending(ctx context.Context) ([]llm.Record, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT key, label, sample FROM asked ORDER BY key")
	if err != nil {
		return nil, s.wrap("reading", err)
	}
	defer rows.Close()
	var out []llm.Record
	for rows.Next() {
		var raw []byte
		var label int64
		var rec llm.Record
		if err := rows.Scan(&raw, &label, &rec.Sample); err != nil {
			return nil, s.wrap("reading", err)
		}
		if rec.Key, err = keyOf(raw); err != nil {
			return nil, s.wrap("reading", err)
		}
		s.mu.RLock()
		if l := s.labels[label]; l != nil {
			rec.Stage, rec.Model, rec.Revision, rec.TemplateHash, rec.Params = l.Stage, l.Model, l.Revision, l.TemplateHash, l.Params
		}
		s.mu.RUnlock()
		out = append(out, rec)
	}
	return out, s.wrap("reading", rows.Err())
}
