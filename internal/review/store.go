// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver: no cgo

	"github.com/retcon-bench/retcon/schemas"
)

// Store keeps the votes that people cast on the page: one SQLite file, a row a
// vote in the order of casting, none ever changed. A vote is durable when Put
// returns.
type Store struct {
	db   *sql.DB
	path string
}

// applicationID marks the file; it spells "rcvt".
const applicationID = 0x72637674

// StoreMagic is how an SQLite file begins.
const StoreMagic = "SQLite format 3\x00"

// OpenStore opens the file, or makes it.
func OpenStore(ctx context.Context, path string) (*Store, error) {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()}
	db, err := sql.Open("sqlite", u.String()+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate")
	if err != nil {
		return nil, fmt.Errorf("votes %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	s := &Store{db, path}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("votes %s: %w", path, err), db.Close())
	}
	return s, nil
}

func (s *Store) prepare(ctx context.Context) error {
	var app, tables int
	if err := s.db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return err
	}
	if err := s.db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&tables); err != nil {
		return err
	}
	if app != applicationID && tables > 0 {
		return errors.New("an SQLite file, but not one of votes")
	}
	_, err := s.db.ExecContext(ctx, fmt.Sprintf(`CREATE TABLE IF NOT EXISTS votes (
		id INTEGER PRIMARY KEY, example_id TEXT NOT NULL, annotator TEXT NOT NULL, vote TEXT NOT NULL) STRICT;
		PRAGMA application_id = %d`, applicationID))
	return err
}

// Put appends a vote.
func (s *Store) Put(ctx context.Context, v schemas.Vote) error {
	if err := check(v); err != nil {
		return err
	}
	line, err := schemas.AppendLine(nil, v)
	if err == nil {
		_, err = s.db.ExecContext(ctx, "INSERT INTO votes (example_id, annotator, vote) VALUES (?, ?, ?)", v.ExampleID, v.Annotator, string(line))
	}
	if err != nil {
		return fmt.Errorf("votes %s: %s by %s: %w", s.path, v.ExampleID, v.Annotator, err)
	}
	return nil
}

// Votes returns all votes in the order of casting.
func (s *Store) Votes(ctx context.Context) ([]schemas.Vote, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT id, vote FROM votes ORDER BY id")
	if err != nil {
		return nil, fmt.Errorf("votes %s: %w", s.path, err)
	}
	defer rows.Close()
	var out []schemas.Vote
	for rows.Next() {
		var id int
		var line string
		var v schemas.Vote
		if err := rows.Scan(&id, &line); err != nil {
			return nil, fmt.Errorf("votes %s: %w", s.path, err)
		}
		if err := schemas.ParseLine([]byte(line), &v); err != nil {
			return nil, fmt.Errorf("votes %s: vote %d: %w", s.path, id, err)
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// voted lists the items an annotator voted on.
func (s *Store) voted(ctx context.Context, annotator string) (map[string]bool, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT DISTINCT example_id FROM votes WHERE annotator = ?", annotator)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		out[id] = true
	}
	return out, rows.Err()
}

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }
