// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/internal/llm"
)

// writer holds the statements of the writing connection. A statement of many
// rows costs a third of one statement a row.
type writer struct {
	s    *Store
	conn *sql.Conn
	put  [2]*sql.Stmt // one row, chunk rows
	idx  [2]*sql.Stmt
}

func rowsOf(sqlText, row string, n int) string {
	return sqlText + row + strings.Repeat(","+row, n-1)
}

func (w *writer) prepare(ctx context.Context, stmts *[2]*sql.Stmt, head, row, foot string) error {
	for i, n := range []int{1, chunk} {
		if stmts[i] != nil {
			continue
		}
		st, err := w.conn.PrepareContext(ctx, rowsOf(head, row, n)+foot)
		if err != nil {
			return err
		}
		stmts[i] = st
	}
	return nil
}

func (w *writer) close() {
	for _, st := range []*sql.Stmt{w.put[0], w.put[1], w.idx[0], w.idx[1]} {
		if st != nil {
			st.Close()
		}
	}
}

// begin runs f in a transaction that takes the write lock at once.
func (w *writer) transact(ctx context.Context, f func() error) error {
	return transact(ctx, w.conn, f)
}

func transact(ctx context.Context, conn *sql.Conn, f func() error) error {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := f(); err != nil {
		_, _ = conn.ExecContext(ctx, "ROLLBACK") // SQLite may have done it by itself
		return err
	}
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		_, _ = conn.ExecContext(ctx, "ROLLBACK")
		return err
	}
	return nil
}

// commit writes a batch and tells its callers what became of it.
func (w *writer) commit(ctx context.Context, b *batch) {
	s := w.s
	s.mu.RLock()
	first := s.last + 1
	s.mu.RUnlock()
	made := map[llm.Label]int64{} // labels that are new in this transaction
	added := map[int64]int{}
	err := w.transact(ctx, func() error {
		if err := w.prepare(ctx, &w.put, "INSERT INTO answers (id, key, label, sample, codec, value) VALUES ", "(?,?,?,?,?,?)", ""); err != nil {
			return err
		}
		var args []any
		flush := func(st *sql.Stmt) error {
			_, err := st.ExecContext(ctx, args...)
			args = args[:0]
			return err
		}
		for i := range b.puts {
			p := &b.puts[i]
			if p.label == 0 {
				var err error
				if p.label, err = makeLabel(ctx, s, w.conn, p.kind, made); err != nil {
					return err
				}
			}
			added[p.label]++
			args = append(args, first+int64(i), p.key[:], p.label, p.sample, p.codec, p.value)
			var err error
			switch {
			case len(args) == 6*chunk:
				err = flush(w.put[1])
			case len(b.puts)-len(b.puts)%chunk <= i:
				err = flush(w.put[0])
			}
			if err != nil {
				return err
			}
		}
		for id, n := range added {
			if _, err := w.conn.ExecContext(ctx, "UPDATE labels SET n = n + ? WHERE id = ?", n, id); err != nil {
				return err
			}
		}
		if len(s.waiting) > 0 { // this goroutine alone changes it
			for _, p := range b.puts {
				if _, err := w.conn.ExecContext(ctx, "DELETE FROM asked WHERE key = ?", p.key[:]); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		err = s.wrap("writing answers", err)
	} else {
		s.mu.Lock()
		for l, id := range made {
			s.keepLabel(id, l)
		}
		for id, n := range added {
			s.labels[id].N += n
		}
		for i, p := range b.puts {
			s.tail[p.key] = first + int64(i)
			delete(s.waiting, p.key)
		}
		s.last = first + int64(len(b.puts)) - 1
		s.mu.Unlock()
	}
	b.err = err
	close(b.done)
}

func labelOf(rec llm.Record) llm.Label {
	return llm.Label{Stage: rec.Stage, Model: rec.Model, Revision: rec.Revision, TemplateHash: rec.TemplateHash, Params: rec.Params, Class: rec.Class}
}

// makeLabel returns the id of a label, made when it is new.
func makeLabel(ctx context.Context, s *Store, conn *sql.Conn, l llm.Label, made map[llm.Label]int64) (int64, error) {
	s.mu.RLock()
	id, ok := s.byLabel[l]
	s.mu.RUnlock()
	if ok {
		return id, nil
	}
	if id, ok := made[l]; ok {
		return id, nil
	}
	res, err := conn.ExecContext(ctx, "INSERT INTO labels (stage, model, revision, template, params, class, n) VALUES (?,?,?,?,?,?,0)",
		l.Stage, l.Model, l.Revision, l.TemplateHash, l.Params, string(l.Class))
	if err != nil {
		return 0, err
	}
	if id, err = res.LastInsertId(); err != nil {
		return 0, err
	}
	made[l] = id
	return id, nil
}

// index moves the keys in memory into idx, in their order, which costs far
// fewer pages than one by one. Answers that a newer one replaced are deleted.
func (w *writer) index(ctx context.Context) error {
	s := w.s
	type entry struct {
		h  int64
		id int64
		k  llm.Key
	}
	s.mu.RLock()
	entries := make([]entry, 0, len(s.tail))
	for k, id := range s.tail {
		entries = append(entries, entry{hash(k), id, k})
	}
	last := s.last
	s.mu.RUnlock()
	if last == s.indexed {
		return nil
	}
	slices.SortFunc(entries, func(a, b entry) int {
		switch {
		case a.h < b.h:
			return -1
		case a.h > b.h:
			return 1
		}
		return slices.Compare(a.k[:], b.k[:])
	})
	replaced := map[int64]int{} // label -> answers deleted
	err := w.transact(ctx, func() error {
		if err := w.prepare(ctx, &w.idx, "INSERT INTO idx (h, id) VALUES ", "(?,?)", " ON CONFLICT DO NOTHING"); err != nil {
			return err
		}
		// Rows of the tail that a later row of the tail replaced.
		if len(entries) < int(last-s.indexed) {
			keep := make(map[int64]bool, len(entries))
			for _, e := range entries {
				keep[e.id] = true
			}
			for id := s.indexed + 1; id <= last; id++ {
				if !keep[id] {
					if err := w.drop(ctx, id, replaced); err != nil {
						return err
					}
				}
			}
		}
		for len(entries) > 0 {
			n, st := 1, w.idx[0]
			if len(entries) >= chunk {
				n, st = chunk, w.idx[1]
			}
			args := make([]any, 0, 2*n)
			for _, e := range entries[:n] {
				args = append(args, e.h, e.id)
			}
			res, err := st.ExecContext(ctx, args...)
			if err != nil {
				return err
			}
			if got, err := res.RowsAffected(); err != nil {
				return err
			} else if int(got) < n {
				for _, e := range entries[:n] {
					if err := w.place(ctx, e.h, e.id, e.k, replaced); err != nil {
						return err
					}
				}
			}
			entries = entries[n:]
		}
		for label, n := range replaced {
			if _, err := w.conn.ExecContext(ctx, "UPDATE labels SET n = n - ? WHERE id = ?", n, label); err != nil {
				return err
			}
		}
		_, err := w.conn.ExecContext(ctx, "UPDATE meta SET value = ? WHERE name = 'indexed'", last)
		return err
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	clear(s.tail)
	s.indexed = last
	for label, n := range replaced {
		s.labels[label].N -= n
	}
	s.mu.Unlock()
	return nil
}

// place puts one key into idx where another may stand: the same key in an
// older row, which goes, or another key, which stays.
func (w *writer) place(ctx context.Context, h, id int64, k llm.Key, replaced map[int64]int) error {
	for ; ; h++ {
		var old int64
		err := w.conn.QueryRowContext(ctx, "SELECT id FROM idx WHERE h = ?", h).Scan(&old)
		if errors.Is(err, sql.ErrNoRows) {
			_, err = w.conn.ExecContext(ctx, "INSERT INTO idx (h, id) VALUES (?,?)", h, id)
			return err
		}
		if err != nil {
			return err
		}
		if old == id {
			return nil
		}
		var raw []byte
		if err := w.conn.QueryRowContext(ctx, "SELECT key FROM answers WHERE id = ?", old).Scan(&raw); err != nil {
			return err
		}
		if string(raw) != string(k[:]) {
			continue
		}
		if err := w.drop(ctx, old, replaced); err != nil {
			return err
		}
		_, err = w.conn.ExecContext(ctx, "UPDATE idx SET id = ? WHERE h = ?", id, h)
		return err
	}
}

func (w *writer) drop(ctx context.Context, id int64, replaced map[int64]int) error {
	var label int64
	err := w.conn.QueryRowContext(ctx, "DELETE FROM answers WHERE id = ? RETURNING label", id).Scan(&label)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		replaced[label]++
	}
	return err
}
