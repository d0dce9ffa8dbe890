// SPDX-License-Identifier: Apache-2.0

package tellmeastory

import (
	"bytes"
	"context"
	"io"
	"iter"
	"strconv"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/internal/records"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

// ReasonKey marks an encrypted file that could not be opened.
const ReasonKey = "encrypted"

// example is a row of the open corpus.
type example struct {
	ID      records.String `json:"example_id"`
	Inputs  records.String `json:"inputs"`
	Targets records.String `json:"targets"`
}

// open are the items of a file of the open corpus.
func (rd *reader) open(ctx context.Context, f fetch.File) iter.Seq2[ingest.Item, error] {
	o, err := rows.Look(f)
	if err != nil {
		return records.One(rows.Set(f.Name, records.ReasonUnreadable, err.Error(), true))
	}
	return rd.examples(ctx, o)
}

// encrypted are the items of a file that has to be decrypted first. It is small
// (3 MB in all), so it is held whole.
func (rd *reader) encrypted(ctx context.Context, f fetch.File, k keys) iter.Seq2[ingest.Item, error] {
	token, sum, err := fetch.ReadFile(f)
	if err != nil {
		return records.One(rows.Set(f.Name, records.ReasonUnreadable, err.Error(), true))
	}
	plain, err := k.decrypt(token)
	if err != nil {
		return records.One(rows.Set(f.Name, ReasonKey, err.Error(), true))
	}
	inner := fetch.File{Name: f.Name, Stored: f.Stored, Path: f.Path, Size: int64(len(plain)),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(plain)), nil }}
	o, err := rows.Look(inner)
	if err != nil {
		return records.One(rows.Set(f.Name, records.ReasonUnreadable, err.Error(), true))
	}
	if !o.Fits {
		o.Close()
		return records.One(rows.Set(f.Name, records.ReasonOther, "it was decrypted and is "+o.Describe(), true))
	}
	o.Upstream = &schemas.FileHash{Path: f.Name, Bytes: int64(len(token)), SHA256: sum}
	return rd.examples(ctx, o)
}

func (rd *reader) examples(ctx context.Context, o *records.Opened) iter.Seq2[ingest.Item, error] {
	stem := rd.stems.Name(o.File.Name, records.Stem(o.File.Name))
	split := records.Split(o.File.Name)
	first := func(r *records.Row) (string, bool) {
		var v struct {
			ID records.String `json:"example_id"`
		}
		if reason, _ := r.Decode(&v); reason != "" || v.ID == "" {
			r.Tag = "open/" + r.Key(stem, o.Format == records.JSONLines)
			return "", true
		}
		return rd.ids.First("open/"+string(v.ID), r)
	}
	return rows.Unique(ctx, o, first, func(b *ingest.Batch, r records.Row) { rd.example(b, r, split) })
}

// example makes records of one row.
func (rd *reader) example(b *ingest.Batch, r records.Row, split string) {
	var v example
	if reason, err := r.Decode(&v); err != nil {
		rows.Bad(b, r, "", reason, err.Error())
		return
	}
	id := schemas.StoryID(Name, r.Tag, "")
	prompt := records.Text(string(v.Inputs))
	st := rows.Story(r, r.Tag, schemas.KindStory, "", "en", string(v.Targets))
	reason, detail := rd.set.Reason(&st)
	switch {
	case !rd.set.Open:
		rows.Skip(b, r, id, records.ReasonNotSelected, "the setting open is false")
		return
	case !records.Wanted(rd.set.Splits, split):
		rows.Skip(b, r, id, records.ReasonNotSelected, "its split is "+strconv.Quote(split))
		return
	case st.Text == "":
		rows.Bad(b, r, id, records.ReasonMissing, "no story (targets)")
		return
	case reason != "":
		rows.Skip(b, r, id, reason, detail)
		return
	}
	st.Language = records.Language("", st.Text)
	if rd.set.As != AsQuery {
		records.Add(&st, "split", split)
		records.Add(&st, "prompt", prompt)
		b.Stories = append(b.Stories, st)
	}
	if rd.set.As != AsStory {
		if prompt == "" {
			rows.Bad(b, r, id, records.ReasonMissing, "no prompt (inputs)")
			return
		}
		q := rows.Story(r, r.Tag+"/prompt", schemas.KindQuery, "", records.Language("", prompt), prompt)
		q.Target = st.Text
		records.Add(&q, "split", split)
		b.Stories = append(b.Stories, q)
	}
}
