// SPDX-License-Identifier: Apache-2.0

package tellmeastory

import (
	"context"
	"iter"
	"path"
	"strconv"
	"strings"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/internal/prose"
	"github.com/retcon-bench/retcon/ingest/internal/records"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

// ReasonUnfinished marks a game that nobody brought to an end.
const ReasonUnfinished = "unfinished"

// game is a game of STORIUM as far as its story needs it. Any field may be null
// or absent in real exports; what is of another type than it should be is left
// out, except for what holds the story.
type game struct {
	PID     records.String       `json:"game_pid"`
	Details records.Lax[details] `json:"details"`
	People  records.Lax[people]  `json:"characters"`
	Scenes  records.List[scene]  `json:"scenes"`
}

type details struct {
	Title records.String       `json:"title"`
	World records.Lax[namedBy] `json:"world"`
}

type namedBy struct {
	Name records.String `json:"name"`
}

type people records.List[character]

// UnmarshalJSON implements json.Unmarshaler.
func (p *people) UnmarshalJSON(b []byte) error { return (*records.List[character])(p).UnmarshalJSON(b) }

type character struct {
	ID   records.String `json:"character_seq_id"`
	Name records.String `json:"name"`
}

type scene struct {
	Entries records.List[entry] `json:"entries"`
	Final   records.Bool        `json:"is_final"`
	Ended   records.Bool        `json:"is_ended"`
}

type entry struct {
	Seq         records.String `json:"seq_id"`
	Format      records.String `json:"format"`
	Role        records.String `json:"role"`
	Character   records.String `json:"character_seq_id"`
	Description records.String `json:"description"`
	Redacted    records.Bool   `json:"redacted"`
}

// games are the items of a file of games: one, or one a row.
func (rd *reader) games(ctx context.Context, f fetch.File) iter.Seq2[ingest.Item, error] {
	o, err := storium.Look(f)
	if err != nil {
		return records.One(storium.Set(f.Name, records.ReasonUnreadable, err.Error(), true))
	}
	if o.Format != records.JSONObject {
		return storium.Items(ctx, o, rd.game)
	}
	o.Close()
	return records.One(ingest.Item{Name: f.Name, Load: func(ctx context.Context) (ingest.Batch, error) {
		b := ingest.Batch{Rows: 1}
		if err := ctx.Err(); err != nil {
			return b, err
		}
		data, sum, err := fetch.ReadFile(f)
		if err != nil {
			if ctx.Err() != nil {
				return b, ctx.Err()
			}
			b.Bad = 1
			b.Dropped = append(b.Dropped, storium.Drop("", f.Name, 0, 0, records.ReasonUnreadable, err.Error()))
			return b, nil
		}
		b.Files = append(b.Files, schemas.FileHash{Path: f.Name, Bytes: int64(len(data)), SHA256: sum, Rows: 1})
		rd.game(&b, records.NewRow(f.Name, data))
		return b, nil
	}})
}

// game makes a story of a game.
func (rd *reader) game(b *ingest.Batch, r records.Row) {
	var g game
	if reason, err := r.Decode(&g); err != nil {
		storium.Bad(b, r, "", reason, err.Error())
		return
	}
	key := string(g.PID)
	if key == "" {
		// The file is the game's only name then.
		key = strings.TrimSuffix(r.File, path.Ext(r.File))
		if r.Line > 0 && r.N > 1 {
			key += ":" + strconv.Itoa(r.Line)
		}
	}
	key = "storium/" + key
	id := schemas.StoryID(Name, key, "")
	split := rd.splitOf(r.File)
	switch {
	case !rd.set.Storium:
		storium.Skip(b, r, id, records.ReasonNotSelected, "the setting storium is false")
		return
	case !records.Wanted(rd.set.Splits, split):
		storium.Skip(b, r, id, records.ReasonNotSelected, "its split is "+strconv.Quote(split))
		return
	case rd.set.Finished && !g.finished():
		storium.Skip(b, r, id, ReasonUnfinished, "no scene of the game is final and ended")
		return
	}
	var text prose.Builder
	entries, scenes := rd.tell(&g, &text)
	world := records.Line(string(g.Details.Value.World.Value.Name))
	title := records.Line(string(g.Details.Value.Title))
	if title == "" {
		title = world
	}
	st := storium.Story(r, key, schemas.KindStory, title, "en", "")
	text.Fill(&st)
	st.Collection = world
	if st.Text == "" {
		storium.Skip(b, r, id, records.ReasonEmpty, "no entry has any text")
		return
	}
	st.Language = records.Language("", st.Text)
	if reason, detail := rd.set.Reason(&st); reason != "" {
		storium.Skip(b, r, id, reason, detail)
		return
	}
	records.Add(&st, "redistribute", "never")
	records.Add(&st, "split", split)
	records.Add(&st, "world", world)
	records.Add(&st, "scenes", strconv.Itoa(scenes))
	records.Add(&st, "entries", strconv.Itoa(entries))
	b.Stories = append(b.Stories, st)
}

func (g *game) finished() bool {
	for _, s := range g.Scenes {
		if s.Final && s.Ended {
			return true
		}
	}
	return false
}

// tell writes the entries in scene and entry order, each a section named by its
// seq_id and its speaker.
func (rd *reader) tell(g *game, b *prose.Builder) (entries, scenes int) {
	names := map[string]string{}
	for _, c := range g.People.Value {
		if c.ID != "" { // a malformed character has none
			names[string(c.ID)] = records.Line(string(c.Name))
		}
	}
	for _, s := range g.Scenes {
		told := false
		for _, e := range s.Entries {
			if bool(e.Redacted) && !rd.set.Redacted || !records.Wanted(rd.set.Formats, string(e.Format)) {
				continue
			}
			body := string(e.Description)
			if rd.set.Markdown == "plain" {
				body = records.Plain(body)
			}
			body = records.Text(body)
			if body == "" {
				continue
			}
			entries++
			told = true
			b.Section(sectionID(e, names), func() {
				for _, p := range strings.Split(body, "\n\n") {
					b.Paragraph([]byte(p), "")
				}
			})
		}
		if told {
			scenes++
		}
	}
	return entries, scenes
}

// sectionID is the entry's number and who speaks: "12 narrator", "13 Mara".
func sectionID(e entry, names map[string]string) string {
	who := string(e.Role)
	id, isCharacter := strings.CutPrefix(who, "character:")
	if !isCharacter && who == "" && e.Character != "" {
		id, isCharacter = string(e.Character), true
	}
	if isCharacter {
		who = id
		if n := names[id]; n != "" {
			who = n
		}
	}
	return strings.TrimSpace(string(e.Seq) + " " + who)
}
