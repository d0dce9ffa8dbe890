// SPDX-License-Identifier: Apache-2.0

// Package store keeps answers on disk, in one SQLite file that any tool reads.
//
// An answer is acknowledged ([Store.Put] returns) when it is on the disk: WAL,
// synchronous FULL. Calls that put at the same time share a commit, so many
// workers pay one fsync between them. A process that is killed loses what was
// not acknowledged and nothing else. One process has the store for writing; a
// second one waits or is refused ([Options.Wait]), while reading is free.
//
// The file, in the order in which data goes through it:
//
//	answers  one row an answer, appended: its key, its label's id, its number
//	         among samples, and value, which is the [llm.Answer] as JSON, as it
//	         stands (codec 0) or, from 2 KiB on where that helps, compressed by
//	         zstd (codec 1); a key that stands twice counts from its highest id
//	idx      hash of key -> id. Keys are random, so an index kept up to date
//	         would touch a page an answer; instead the newest keys are held in
//	         memory (up to 64 Ki) and go into idx sorted, in one transaction.
//	         meta.indexed says how far; what is beyond is read when opening
//	labels   stage, model, revision, template, parameters and class, once for
//	         all answers that share them, with their number
//	asked    requests of batch rounds that wait for an answer
//
// Measured on two cores: see scripts/bench/llm.
package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"modernc.org/sqlite"

	"github.com/retcon-bench/retcon/internal/llm"
)

// Version is the version of the file's layout, in its user_version.
const Version = 1

// applicationID marks the file as ours ("rtcn").
const applicationID = 0x7274636e

const schema = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
INSERT INTO meta VALUES ('indexed', 0);
CREATE TABLE labels (id INTEGER PRIMARY KEY, stage TEXT NOT NULL, model TEXT NOT NULL, revision TEXT NOT NULL,
	template TEXT NOT NULL, params TEXT NOT NULL, class TEXT NOT NULL, n INTEGER NOT NULL);
CREATE TABLE answers (id INTEGER PRIMARY KEY, key BLOB NOT NULL, label INTEGER NOT NULL, sample INTEGER NOT NULL,
	codec INTEGER NOT NULL, value BLOB NOT NULL);
CREATE TABLE idx (h INTEGER PRIMARY KEY, id INTEGER NOT NULL);
CREATE TABLE asked (key BLOB NOT NULL UNIQUE, label INTEGER NOT NULL, sample INTEGER NOT NULL);
`

// tailMax is how many keys are in memory before they go into idx; less in tests.
var tailMax = 64 << 10

const (
	// pageSize is that of new files, in bytes. SQLite's own 4 KiB are more
	// writes, and leave a sixth of a page unused by answers of a kilobyte; of 8,
	// an answer of 5 KiB, which is 16 compressed, leaves 3 unused. More gains
	// nothing.
	pageSize   = 16 << 10
	checkpoint = 32 << 20 / pageSize // pages of the write-ahead log
	enough     = 512                 // a commit does not wait for more answers than these
	chunk      = 32                  // rows an INSERT statement
	readers    = 4
)

// Options change how a store is opened.
type Options struct {
	// ReadOnly opens without the lock, beside a process that writes. The file
	// must exist.
	ReadOnly bool
	// Wait is how long to wait for another process that has the store; 0 is
	// not at all.
	Wait time.Duration
}

// Store is an open answer store. It is safe for concurrent use and implements
// [llm.Store] and [llm.Labeled].
type Store struct {
	path string
	opts Options
	lock *os.File
	db   *sql.DB // readers
	wdb  *sql.DB // the writer's one connection
	get  *sql.Stmt
	byID *sql.Stmt

	queue  sync.Mutex
	next   *batch        // what the next commit writes; nil when closed
	wake   chan struct{} // a token when next got its first answer
	jobs   chan func(context.Context, *sql.Conn) error
	done   chan struct{} // closed when the writer has ended
	closed chan struct{} // closed to end it
	once   sync.Once
	err    error // of closing

	mu      sync.RWMutex
	tail    map[llm.Key]int64 // answers not in idx
	indexed int64             // highest id in idx
	last    int64             // highest id
	waiting map[llm.Key]bool  // keys in asked
	labels  map[int64]*llm.Label
	byLabel map[llm.Label]int64 // N = 0
	enc     *zstd.Encoder
	dec     *zstd.Decoder
}

// batch is the answers of one commit.
type batch struct {
	puts []put
	done chan struct{} // closed after the commit, err is set then
	err  error
}

type put struct {
	key    llm.Key
	kind   llm.Label // N = 0
	label  int64     // id of kind; 0 when it is new
	sample int
	codec  int
	value  []byte
}

func newBatch(room int) *batch {
	return &batch{puts: make([]put, 0, room), done: make(chan struct{})}
}

// Open opens the store at path, and makes it when it is not there. The error
// says what to do; it is a [llm.StopError] of class disk.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	s := &Store{path: path, opts: opts, tail: map[llm.Key]int64{}, waiting: map[llm.Key]bool{}, labels: map[int64]*llm.Label{}, byLabel: map[llm.Label]int64{}}
	if err := s.open(ctx); err != nil {
		s.release()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, s.wrap("opening", err)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) (err error) {
	if s.opts.ReadOnly {
		if _, err := os.Stat(s.path); err != nil {
			return err
		}
	} else {
		if err := os.MkdirAll(filepath.Dir(s.path), 0o755); err != nil {
			return err
		}
		if s.lock, err = lock(ctx, s.path, s.opts.Wait); err != nil {
			return err
		}
	}
	if s.enc, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false)); err != nil {
		return err
	}
	if s.dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(1<<30)); err != nil {
		return err
	}
	dsn := "file:" + escapePath(s.path) + "?_pragma=busy_timeout(10000)"
	if !s.opts.ReadOnly {
		if s.wdb, err = sql.Open("sqlite", dsn+"&_txlock=immediate&_pragma=synchronous(FULL)&_pragma=cache_size(-16000)"); err != nil {
			return err
		}
		s.wdb.SetMaxOpenConns(1)
		if err := s.prepare(ctx); err != nil {
			return err
		}
	}
	if s.db, err = sql.Open("sqlite", dsn+"&_pragma=query_only(1)&_pragma=cache_size(-8000)"); err != nil {
		return err
	}
	s.db.SetMaxOpenConns(readers)
	s.db.SetMaxIdleConns(readers)
	if err := s.check(ctx, s.db); err != nil {
		return err
	}
	if err := s.load(ctx); err != nil {
		return err
	}
	if s.get, err = s.db.PrepareContext(ctx, "SELECT a.id, a.key, a.label, a.sample, a.codec, a.value FROM idx JOIN answers a ON a.id = idx.id WHERE idx.h = ?"); err != nil {
		return err
	}
	if s.byID, err = s.db.PrepareContext(ctx, "SELECT id, key, label, sample, codec, value FROM answers WHERE id = ?"); err != nil {
		return err
	}
	if s.opts.ReadOnly {
		return nil
	}
	conn, err := s.wdb.Conn(ctx)
	if err != nil {
		return err
	}
	s.next, s.wake, s.jobs = newBatch(0), make(chan struct{}, 1), make(chan func(context.Context, *sql.Conn) error)
	s.done, s.closed = make(chan struct{}), make(chan struct{})
	go s.write(conn)
	return nil
}

// escapePath makes a path fit for a file: URI.
func escapePath(p string) string {
	p = filepath.ToSlash(p)
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(p)
}

// prepare makes the tables of a new file and checks those of an old one.
func (s *Store) prepare(ctx context.Context) error {
	// The driver runs the pragmas of a DSN in the order of their names, and the
	// page size counts only before the first page, which journal_mode writes. It
	// stays what it is in a file that is there.
	for _, p := range []string{fmt.Sprintf("page_size = %d", pageSize), "journal_mode = WAL", fmt.Sprintf("wal_autocheckpoint = %d", checkpoint)} {
		if _, err := s.wdb.ExecContext(ctx, "PRAGMA "+p); err != nil {
			return err
		}
	}
	var tables int
	if err := s.wdb.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&tables); err != nil {
		return err
	}
	if tables > 0 {
		return s.check(ctx, s.wdb)
	}
	tx, err := s.wdb.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, schema+fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, Version)); err != nil {
		return err
	}
	return tx.Commit()
}

func (s *Store) check(ctx context.Context, db *sql.DB) error {
	var app, version int
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	switch {
	case app != applicationID:
		return errors.New("this is an SQLite file, but no answer store")
	case version > Version:
		return fmt.Errorf("made by a newer version (layout %d, this one knows %d): use that one", version, Version)
	}
	return nil
}

// load reads the labels and the keys that are not in idx yet.
func (s *Store) load(ctx context.Context) error {
	// One transaction, so that a process that writes beside us cannot move keys
	// into idx between the two reads.
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := tx.QueryRowContext(ctx, "SELECT value FROM meta WHERE name = 'indexed'").Scan(&s.indexed); err != nil {
		return err
	}
	s.last = s.indexed
	rows, err := tx.QueryContext(ctx, "SELECT id, stage, model, revision, template, params, class, n FROM labels")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var l llm.Label
		if err := rows.Scan(&id, &l.Stage, &l.Model, &l.Revision, &l.TemplateHash, &l.Params, &l.Class, &l.N); err != nil {
			return err
		}
		s.keepLabel(id, l)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	rows, err = tx.QueryContext(ctx, "SELECT id, key FROM answers WHERE id > ? ORDER BY id", s.indexed)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var raw sql.RawBytes
		if err := rows.Scan(&s.last, &raw); err != nil {
			return err
		}
		k, err := keyOf(raw)
		if err != nil {
			return err
		}
		s.tail[k] = s.last
	}
	if err := rows.Err(); err != nil {
		return err
	}
	rows, err = tx.QueryContext(ctx, "SELECT key FROM asked")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var raw sql.RawBytes
		if err := rows.Scan(&raw); err != nil {
			return err
		}
		k, err := keyOf(raw)
		if err != nil {
			return err
		}
		s.waiting[k] = true
	}
	return rows.Err()
}

func (s *Store) keepLabel(id int64, l llm.Label) {
	copied := l
	s.labels[id] = &copied
	l.N = 0
	s.byLabel[l] = id
}

func keyOf(raw []byte) (k llm.Key, err error) {
	if len(raw) != len(k) {
		return k, fmt.Errorf("a key of %d bytes", len(raw))
	}
	copy(k[:], raw)
	return k, nil
}

// hash is the place of a key in idx; another key at that place goes one on.
func hash(k llm.Key) int64 { return int64(binary.BigEndian.Uint64(k[:8])) }

// wrap says what was being done, and that the disk is to blame.
func (s *Store) wrap(what string, err error) error {
	if err == nil || llm.StopClassOf(err) != "" {
		return err
	}
	hint := ""
	var se *sqlite.Error
	if errors.As(err, &se) {
		switch se.Code() & 0xff {
		case 13: // SQLITE_FULL
			hint = ": the disk is full; free some space and run the same command again, answers so far are kept"
		case 11, 26: // SQLITE_CORRUPT, SQLITE_NOTADB
			hint = ": the file is damaged or no answer store; move it away, or bring back a copy"
		case 8, 14: // SQLITE_READONLY, SQLITE_CANTOPEN
			hint = ": check that folder and file may be written"
		}
	}
	return llm.Stop(llm.StopDisk, fmt.Errorf("answer store %s: %s: %w%s", s.path, what, err, hint))
}

// Get returns the record of key.
func (s *Store) Get(ctx context.Context, key llm.Key) (llm.Record, bool, error) {
	s.mu.RLock()
	id, inTail := s.tail[key]
	indexed := s.indexed
	s.mu.RUnlock()
	if inTail {
		rec, ok, err := s.scan(s.byID.QueryRowContext(ctx, id), key)
		if ok || err != nil {
			return rec, ok, err
		}
		// It was moved in the meantime; idx knows.
	}
	if indexed == 0 && !s.opts.ReadOnly && !inTail {
		return llm.Record{}, false, nil
	}
	for h := hash(key); ; h++ {
		var taken bool
		rec, ok, err := s.scanAt(s.get.QueryRowContext(ctx, h), key, &taken)
		if ok || err != nil || !taken {
			return rec, ok, err
		}
	}
}

func (s *Store) scan(row *sql.Row, key llm.Key) (llm.Record, bool, error) {
	var taken bool
	return s.scanAt(row, key, &taken)
}

// scanAt reads a row; taken says that there was one, be it of another key.
func (s *Store) scanAt(row *sql.Row, key llm.Key, taken *bool) (llm.Record, bool, error) {
	rec, _, err := s.read(row.Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return rec, false, nil
	}
	if err != nil {
		return rec, false, s.wrap("reading an answer", err)
	}
	*taken = true
	return rec, rec.Key == key, nil
}

func (s *Store) read(scan func(...any) error) (rec llm.Record, id int64, err error) {
	var key, value []byte
	var label int64
	var codec int
	if err := scan(&id, &key, &label, &rec.Sample, &codec, &value); err != nil {
		return rec, 0, err
	}
	if rec.Key, err = keyOf(key); err != nil {
		return rec, id, err
	}
	if codec == 1 {
		if value, err = s.dec.DecodeAll(value, nil); err != nil {
			return rec, id, fmt.Errorf("answer %s: %w", rec.Key, err)
		}
	}
	if err := json.Unmarshal(value, &rec.Answer); err != nil {
		return rec, id, fmt.Errorf("answer %s: %w", rec.Key, err)
	}
	l, err := s.label(label)
	if err != nil {
		return rec, id, fmt.Errorf("answer %s: label %d: %w", rec.Key, label, err)
	}
	rec.Stage, rec.Model, rec.Revision = l.Stage, l.Model, l.Revision
	rec.TemplateHash, rec.Params, rec.Class = l.TemplateHash, l.Params, l.Class
	return rec, id, nil
}

// label returns a label by its id. One that we do not know was made by a
// process that writes beside us.
func (s *Store) label(id int64) (*llm.Label, error) {
	s.mu.RLock()
	l := s.labels[id]
	s.mu.RUnlock()
	if l != nil {
		return l, nil
	}
	l = &llm.Label{}
	err := s.db.QueryRow("SELECT stage, model, revision, template, params, class, n FROM labels WHERE id = ?", id).
		Scan(&l.Stage, &l.Model, &l.Revision, &l.TemplateHash, &l.Params, &l.Class, &l.N)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.keepLabel(id, *l)
	s.mu.Unlock()
	return l, nil
}

// Put keeps a record and returns when it is on the disk.
func (s *Store) Put(ctx context.Context, rec llm.Record) error {
	if s.opts.ReadOnly {
		return s.wrap("writing", errors.New("opened for reading only"))
	}
	p := put{key: rec.Key, kind: labelOf(rec), sample: rec.Sample}
	var err error
	if p.value, err = encode(rec.Answer); err != nil {
		return fmt.Errorf("answer store: answer %s: %w", rec.Key, err)
	}
	const worthIt = 2 << 10 // below, zstd costs more than the rest of the put
	if len(p.value) >= worthIt {
		if z := s.enc.EncodeAll(p.value, make([]byte, 0, len(p.value)/2)); len(z) < len(p.value) {
			p.value, p.codec = z, 1
		}
	}
	s.mu.RLock()
	p.label = s.byLabel[p.kind]
	s.mu.RUnlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	s.queue.Lock()
	b := s.next
	if b == nil {
		s.queue.Unlock()
		return s.wrap("writing", errors.New("the store is closed"))
	}
	b.puts = append(b.puts, p)
	first := len(b.puts) == 1
	s.queue.Unlock()
	if first {
		s.wake <- struct{}{} // has room: the writer takes a batch after its token
	}
	// From here on it will be written: the caller waits for that, whatever
	// becomes of ctx, or it could not know whether the answer is there.
	<-b.done
	return b.err
}

// take returns the answers that wait, and lets next, which may be nil, collect
// those to come.
func (s *Store) take(next *batch) *batch {
	s.queue.Lock()
	defer s.queue.Unlock()
	b := s.next
	s.next = next
	return b
}

func (s *Store) queued() int {
	s.queue.Lock()
	defer s.queue.Unlock()
	return len(s.next.puts)
}

// do runs a job on the writer's connection, between commits.
func (s *Store) do(ctx context.Context, job func(context.Context, *sql.Conn) error) error {
	if s.opts.ReadOnly {
		return s.wrap("writing", errors.New("opened for reading only"))
	}
	result := make(chan error, 1)
	wrapped := func(ctx context.Context, c *sql.Conn) error {
		err := job(ctx, c)
		result <- err
		return err
	}
	select {
	case s.jobs <- wrapped:
		return <-result
	case <-s.done:
		return s.wrap("writing", errors.New("the store is closed"))
	case <-ctx.Done():
		return ctx.Err()
	}
}

// write is the one goroutine that writes. What arrives while it commits makes
// the next commit.
func (s *Store) write(conn *sql.Conn) {
	defer close(s.done)
	defer conn.Close()
	ctx := context.Background()
	w := &writer{s: s, conn: conn}
	defer w.close()
	for {
		select {
		case <-s.wake:
		case job := <-s.jobs:
			_ = job(ctx, conn) // its caller has the error
			continue
		case <-s.closed:
			if b := s.take(nil); len(b.puts) > 0 { // what was accepted is written
				w.commit(ctx, b)
			}
			s.err = s.wrap("closing", w.index(ctx))
			if _, err := conn.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil && s.err == nil {
				s.err = s.wrap("closing", err)
			}
			return
		}
		// Let those run who are about to put: an fsync costs as much as a
		// hundred answers. Nobody about means nobody runs. Enough are enough:
		// of very many workers a part makes its answers ready while the others'
		// are written.
		n := s.queued()
		for idle := 0; idle < 3 && n < enough; idle++ {
			runtime.Gosched()
			if now := s.queued(); now > n {
				n, idle = now, -1
			}
		}
		w.commit(ctx, s.take(newBatch(n)))
		if len(s.tail) >= tailMax { // the writer alone changes it
			_ = w.index(ctx) // tried again next time, and the tail stays right
		}
	}
}

// Close writes what was accepted, brings the index up to date and gives the
// store back.
func (s *Store) Close() error {
	s.once.Do(func() {
		if s.closed != nil {
			close(s.closed)
			<-s.done
		}
		s.release()
	})
	return s.err
}

func (s *Store) release() {
	for _, st := range []*sql.Stmt{s.get, s.byID} {
		if st != nil {
			st.Close()
		}
	}
	for _, db := range []*sql.DB{s.db, s.wdb} {
		if db != nil {
			db.Close()
		}
	}
	if s.dec != nil {
		s.dec.Close()
	}
	if s.lock != nil {
		s.lock.Close() // and with it the lock
	}
}

// Labels returns what the store holds, by kind.
func (s *Store) Labels(context.Context) ([]llm.Label, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []llm.Label
	for _, l := range s.labels {
		if l.N > 0 {
			out = append(out, *l)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		for _, p := range [][2]string{{a.Stage, b.Stage}, {a.Model, b.Model}, {a.Revision, b.Revision}, {a.TemplateHash, b.TemplateHash}, {a.Params, b.Params}} {
			if p[0] != p[1] {
				return p[0] < p[1]
			}
		}
		return a.Class < b.Class
	})
	return out, nil
}
