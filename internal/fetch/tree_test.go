// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Builders for hostile and harmless containers.

type entry struct {
	name, body string
	tweak      func(*zip.FileHeader, *tar.Header)
}

func zipOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.tweak != nil {
			e.tweak(h, &tar.Header{})
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, e.body)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: 0o644, Size: int64(len(e.body)), Typeflag: tar.TypeReg}
		if e.tweak != nil {
			e.tweak(&zip.FileHeader{}, h)
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			io.WriteString(w, e.body)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gz(t testing.TB, data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(data)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zst(t testing.TB, data []byte) []byte {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(data, nil)
}

// bz2 is "hello\n" as the bzip2 program writes it; Go has no encoder.
var bz2 = []byte("BZh91AY&SY\xc1\xc0\x80\xe2\x00\x00\x01\x41\x00\x00\x10\x02\x44\xa0\x00\x30\xcd\x00\xc3\x46\x29\x97\x17\x72\x45\x38\x50\x90\xc1\xc0\x80\xe2")

func put(t testing.TB, path string, data []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// look walks root and prints a line for each file or error, with the root's
// path replaced by ROOT.
func look(t *testing.T, root string, lim Limits) string {
	t.Helper()
	var b strings.Builder
	for f, err := range Walk(t.Context(), root, lim) {
		if err != nil {
			if f.Open != nil {
				t.Errorf("%s can be opened in spite of %v", f.Name, err)
			}
			fmt.Fprintf(&b, "%s: %v: %v\n", f.Name, KindOf(err), err)
			continue
		}
		if !fs.ValidPath(f.Name) || f.Name == "." {
			t.Errorf("%q is no valid name", f.Name)
		}
		data, sum, err := ReadFile(f)
		switch {
		case err != nil:
			fmt.Fprintf(&b, "%s: READ %v: %v\n", f.Name, KindOf(err), err)
			continue
		case sum != hexSum(data), f.Size >= 0 && f.Size != int64(len(data)):
			t.Errorf("%s: size %d, %d bytes with hash %s", f.Name, f.Size, len(data), sum)
		}
		if len(data) > 20 {
			data = fmt.Appendf(nil, "%d bytes", len(data))
		}
		fmt.Fprintf(&b, "%s = %q", f.Name, data)
		if f.Stored != f.Name {
			fmt.Fprintf(&b, " (%s)", f.Stored)
		}
		b.WriteByte('\n')
	}
	return strings.ReplaceAll(b.String(), root, "ROOT")
}

func symlink(t *testing.T, target, link string) {
	t.Helper()
	if err := os.Symlink(target, link); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
}

// One folder with everything that is allowed.
func TestWalkFolder(t *testing.T) {
	dir := t.TempDir()
	inner := zipOf(t, entry{name: "deep/b.txt", body: "inner b"}, entry{name: "deep/", body: ""}, entry{name: "a.txt", body: "inner a"})
	put(t, dir+"/a/z.txt", []byte("z"))
	put(t, dir+"/a.txt", []byte("a dot sorts before the slash of a/"))
	put(t, dir+"/a-.txt", []byte("minus"))
	put(t, dir+"/b.txt.gz", gz(t, []byte("zipped b")))
	put(t, dir+"/c.csv", []byte("plain"))
	put(t, dir+"/c.csv.gz", gz(t, []byte("plain")))
	put(t, dir+"/d.bz2", bz2)
	put(t, dir+"/disguised.txt", zst(t, []byte("zstd under a text's name")))
	put(t, dir+"/e.zip", inner)
	put(t, dir+"/f.tar.gz", gz(t, tarOf(t, entry{name: "./z", body: "first"}, entry{name: "y/x.gz", body: string(gz(t, []byte("second")))}, entry{name: "e.zip", body: string(inner)})))
	put(t, dir+"/g.tzst", zst(t, tarOf(t, entry{name: "t", body: "in zstd"})))
	put(t, dir+"/h.tar", tarOf(t, entry{name: "e.zip", body: string(inner)}, entry{name: "q", body: "in tar"}))
	put(t, dir+"/i.epub", zipOf(t, entry{name: "mimetype", body: "application/epub+zip", tweak: func(z *zip.FileHeader, _ *tar.Header) { z.Method = zip.Store }}))
	put(t, dir+"/two.gz", append(gz(t, []byte("one ")), gz(t, []byte("two"))...))
	put(t, dir+"/empty.tar.gz", gz(t, tarOf(t)))
	put(t, dir+"/empty.zip", zipOf(t))
	put(t, dir+"/empty.txt", nil)
	put(t, dir+"/.hidden/x", []byte("x"))
	put(t, dir+"/.book.partial", []byte("half"))
	put(t, dir+"/__MACOSX/x", []byte("x"))
	symlink(t, "../a.txt", dir+"/a/link.txt")
	symlink(t, "a", dir+"/folderlink")
	want := `a-.txt = "minus"
a.txt = "34 bytes"
a/link.txt = "34 bytes"
a/z.txt = "z"
b.txt = "zipped b" (b.txt.gz)
c.csv = "plain"
c.csv.gz = "plain"
d = "hello\n" (d.bz2)
disguised.txt = "24 bytes"
e.zip/a.txt = "inner a"
e.zip/deep/b.txt = "inner b"
empty.txt = ""
f.tar.gz/z = "first"
f.tar.gz/y/x = "second" (f.tar.gz/y/x.gz)
f.tar.gz/e.zip/a.txt = "inner a"
f.tar.gz/e.zip/deep/b.txt = "inner b"
g.tzst/t = "in zstd"
h.tar/e.zip/a.txt = "inner a"
h.tar/e.zip/deep/b.txt = "inner b"
h.tar/q = "in tar"
i.epub = "` + fmt.Sprint(len(must(os.ReadFile(dir+"/i.epub")))) + ` bytes"
two = "one two" (two.gz)
`
	if d := cmp.Diff(want, look(t, dir, Limits{})); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	// A link to the folder is the folder, a relative root too.
	link := t.TempDir() + "/link"
	symlink(t, dir, link)
	t.Chdir(filepath.Dir(dir))
	for _, root := range []string{link, filepath.Base(dir)} {
		if d := cmp.Diff(want, look(t, root, Limits{})); d != "" {
			t.Errorf("%s: -want +got:\n%s", root, d)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// One file as root: an archive's members have their own names, a single file its base name.
func TestWalkSingle(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"a.txt":    {[]byte("x"), "a.txt = \"x\"\n"},
		"a.txt.gz": {gz(t, []byte("x")), "a.txt = \"x\" (a.txt.gz)\n"},
		"d.zip":    {zipOf(t, entry{name: `win\a.txt`, body: "x"}), "win/a.txt = \"x\"\n"},
		"d.tgz":    {gz(t, tarOf(t, entry{name: "b", body: "x"})), "b = \"x\"\n"},
		"d.tar":    {tarOf(t, entry{name: "b", body: "x"}), "b = \"x\"\n"},
		"d.zip.gz": {gz(t, zipOf(t, entry{name: "b", body: "x"})), "b = \"x\"\n"},
		"b.gz.bin": {gz(t, gz(t, []byte("x"))), "b.gz.bin = \"x\"\n"},
	} {
		if d := cmp.Diff(tt.want, look(t, put(t, dir+"/"+name, tt.data), Limits{})); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
	}
	if got := look(t, dir+"/none", Limits{}); !strings.Contains(got, "input: open ROOT: "+notExist(t)) {
		t.Errorf("missing root: %s", got)
	}
	if runtime.GOOS == "linux" {
		if got := look(t, "/dev/zero", Limits{}); got != "zero: input: open ROOT: not a regular file but a device\n" {
			t.Errorf("device: %s", got)
		}
	}
}

// Names that leave the root are refused by name, in every spelling, and the
// rest of the archive is still listed.
func TestWalkZipSlip(t *testing.T) {
	bad := []string{
		"../evil", "a/../../evil", "/etc/passwd", `..\evil`, `a\..\..\evil`, `\\server\share\evil`, `C:\evil`, "c:evil", "..", "a/..", "../", ".. /evil", "a/.../b",
		"nul\x00byte", strings.Repeat("x", 5000), "../.hidden",
	}
	for _, name := range bad {
		if clean, err := cleanMember(name, true); !errors.Is(err, ErrName) {
			t.Errorf("%q passes as %q", name, clean)
		}
		if s := safeName(name); !fs.ValidPath(s) || s == "." {
			t.Errorf("%q is shown as %q", name, s)
		}
	}
	for name, want := range map[string]string{"./a//b/./c": "a/b/c", "a..b/..c/d..": "a..b/..c/d..", "caf\xe9/\x01": "caf%E9/%01", "über": "über", "a:b": "a:b"} {
		if name == "a:b" {
			name, want = "ab:c", "ab:c"
		}
		if got, err := cleanMember(name, false); got != want || err != nil {
			t.Errorf("%q is %q, %v; want %q", name, got, err, want)
		}
	}
	entries := []entry{{name: "a/ok", body: "1"}}
	for _, name := range bad {
		if len(name) < 200 && !strings.HasSuffix(name, "/") {
			entries = append(entries, entry{name: name, body: "x"})
		}
	}
	entries = append(entries, entry{name: "z/ok", body: "2"})
	dir := t.TempDir()
	for _, root := range []string{
		put(t, dir+"/a.zip", zipOf(t, entries...)),
		put(t, dir+"/a.tar", tarOf(t, slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return strings.Contains(e.name, "\x00") })...)),
	} {
		good, refused := "", 0
		for f, err := range Walk(t.Context(), root, Limits{}) {
			if !fs.ValidPath(f.Name) || f.Name == "." {
				t.Errorf("name %q", f.Name)
			}
			if errors.Is(err, ErrName) && KindOf(err) == Input {
				refused++
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", f.Name, err)
			}
			good += f.Name + " "
		}
		want := len(entries) - 2
		if strings.HasSuffix(root, "tar") {
			want--
		}
		if good != "a/ok z/ok " || refused != want {
			t.Errorf("%s: good are %s, %d refused, want %d", root, good, refused, want)
		}
	}
}

func kind(b byte) func(*zip.FileHeader, *tar.Header) {
	return func(_ *zip.FileHeader, h *tar.Header) { h.Typeflag, h.Size = b, 0 }
}

// Everything refused, with the words people will read.
func TestWalkRefuses(t *testing.T) {
	zeros := strings.Repeat("\x00", 1<<20)
	text := strings.Repeat("not a bomb\n", 10)
	small := Limits{RatioFloor: 1 << 10}
	linkTo := func(target string) func(*zip.FileHeader, *tar.Header) {
		return func(z *zip.FileHeader, h *tar.Header) {
			z.SetMode(fs.ModeSymlink | 0o777)
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, target, 0
		}
	}
	fifo := func(z *zip.FileHeader, h *tar.Header) { z.SetMode(fs.ModeNamedPipe | 0o644) }
	encrypted := func(z *zip.FileHeader, _ *tar.Header) { z.Flags |= 1 }
	gzText := gz(t, []byte(strings.Repeat(text, 100)))
	badCRC := bytes.Clone(gzText)
	badCRC[len(badCRC)-6] ^= 1
	tarText := tarOf(t, entry{name: "a", body: text}, entry{name: "b", body: text})
	zipText := zipOf(t, entry{name: "a", body: text}, entry{name: "b", body: text})
	tests := []struct {
		name string
		file string
		data []byte
		lim  Limits
		is   error
		want string
	}{
		{"gzip bomb", "a.gz", gz(t, []byte(zeros)), small, ErrRatio, ""},
		{"zstd bomb", "a.zst", zst(t, []byte(zeros)), small, ErrRatio, ""},
		{"zip bomb", "a.zip", zipOf(t, entry{name: "a", body: zeros}, entry{name: "b", body: text}), small, ErrRatio,
			": input: open ROOT: decompression ratio above the limit of 200: 1266 bytes on disk decompress to 1048686 bytes or more in all\n"},
		{"zip member that is a bomb in honest company", "a.zip", zipOf(t, entry{name: "a", body: zeros}, entry{name: "b", body: string(book())}), small, ErrRatio,
			"a: input: open ROOT/a: decompression ratio above the limit of 200: "},
		{"bomb of many small members", "a.zip", zipOf(t, slices.Repeat([]entry{{name: "x", body: zeros[:1000]}}, 30)...), Limits{RatioFloor: 1 << 10, MaxRatio: 4}, ErrRatio, ""},
		{"bomb in a tar", "a.tgz", gz(t, tarOf(t, entry{name: "a", body: zeros})), small, ErrRatio, ""},
		{"bomb in a zip in a zip", "a.zip", zipOf(t, entry{name: "in.zip", body: string(zipOf(t, entry{name: "in2.zip", body: string(zipOf(t, entry{name: "a", body: zeros}))}))}), small, ErrRatio,
			"in.zip/in2.zip: input: open ROOT/in.zip/in2.zip: decompression ratio above the limit of 200"},
		{"bomb in two gzips", "a.gz.gz", gz(t, gz(t, []byte(zeros))), small, ErrRatio, ""},
		{"below the floor anything goes", "a.gz", gz(t, []byte(zeros)), Limits{}, nil, "a = \"1048576 bytes\" (a.gz)\n"},
		{"size in a gzip", "a.gz", gzText, Limits{MaxFile: 100}, ErrTooLarge, "a.gz: input: read ROOT: larger than the limit of 100 bytes\n"},
		{"size in a zip", "a.zip", zipText, Limits{MaxFile: 100}, ErrTooLarge, "a: input: open ROOT/a: larger than the limit: the zip declares 110 bytes, limit 100\nb: input: "},
		{"size in a tar", "a.tar", tarText, Limits{MaxFile: 100}, ErrTooLarge, "a: input: open ROOT/a: larger than the limit: the tar declares 110 bytes, limit 100\nb: input: "},
		{"size of a plain file", "a.txt", []byte(text), Limits{MaxFile: 100}, ErrTooLarge, "a.txt: input: open ROOT: larger than the limit: 110 bytes, limit 100\n"},
		{"size of a file read whole", "a.txt", []byte(text), Limits{MaxWhole: 100}, ErrTooLarge, "a.txt: READ input: read ROOT: larger than the limit of 100 bytes for a file read whole\n"},
		{"total of a zip", "a.zip", zipText, Limits{MaxTotal: 200}, ErrTooLarge, ": input: open ROOT: larger than the limit: its contents decompress to more than 200 bytes in all\n"},
		{"total of a tar", "a.tgz", gz(t, tarText), Limits{MaxTotal: 1600}, ErrTooLarge, "a = \"110 bytes\"\n: input: read ROOT: larger than the limit: its contents decompress to more than 1600 bytes in all\n"},
		{"entries of a zip", "a.zip", zipText, Limits{MaxEntries: 1}, ErrEntries, ": input: open ROOT: more archive entries than the limit of 1\n"},
		{"entries of a tar", "a.tar", tarText, Limits{MaxEntries: 1}, ErrEntries, "a = \"110 bytes\"\n: input: open ROOT: more archive entries than the limit of 1\n"},
		{"depth", "a.zip", zipOf(t, entry{name: "in.zip", body: string(zipText)}), Limits{MaxDepth: 1}, ErrDepth, "in.zip: input: open ROOT/in.zip: archives nested deeper than the limit of 1: unpack it first\n"},
		{"duplicate in a zip", "a.zip", zipOf(t, entry{name: "a", body: "1"}, entry{name: "./a", body: "2"}), Limits{}, ErrDuplicate, "a = \"1\"\na: input: open ROOT/a: name occurs twice in the archive: \"./a\"\n"},
		{"duplicate in a tar", "a.tar", tarOf(t, entry{name: "a", body: "1"}, entry{name: "./a", body: "2"}), Limits{}, ErrDuplicate, "a = \"1\"\na: input: open ROOT/a: name occurs twice in the archive: \"./a\"\n"},
		{"links in a zip", "a.zip", zipOf(t, entry{"a/in", "../b", linkTo("../b")}, entry{"a/out", "../../b", linkTo("../../b")}, entry{"b", "x", nil}, entry{"c", "/etc/passwd", linkTo("/etc/passwd")}), Limits{}, ErrLink,
			"a/out: input: open ROOT/a/out: symbolic link leaves its root: it points to \"../../b\"\nb = \"x\"\nc: input: open ROOT/c: symbolic link leaves its root: it points to \"/etc/passwd\"\n"},
		{"links in a tar", "a.tar", tarOf(t, entry{"a/in", "", linkTo("../b")}, entry{"a/out", "", linkTo("../../b")}, entry{"b", "x", nil}), Limits{}, ErrLink,
			"a/out: input: open ROOT/a/out: symbolic link leaves its root: it points to \"../../b\"\nb = \"x\"\n"},
		{"hard link in a tar", "a.tar", tarOf(t, entry{"h", "", func(_ *zip.FileHeader, h *tar.Header) { h.Typeflag, h.Linkname, h.Size = tar.TypeLink, "../h", 0 }}), Limits{}, ErrLink, "h: input: "},
		{"devices in a tar", "a.tar", tarOf(t, entry{"c", "", kind(tar.TypeChar)}, entry{"f", "", kind(tar.TypeFifo)}, entry{"b", "x", nil}), Limits{}, ErrSpecial,
			"c: input: open ROOT/c: not a regular file but a device\nf: input: open ROOT/f: not a regular file but a named pipe\nb = \"x\"\n"},
		{"pipe in a zip", "a.zip", zipOf(t, entry{"p", "", fifo}), Limits{}, ErrSpecial, "p: input: open ROOT/p: not a regular file but a named pipe\n"},
		{"encrypted zip", "a.zip", zipOf(t, entry{"p", "x", encrypted}), Limits{}, ErrEncrypted, "p: input: open ROOT/p: archive entry is encrypted: unpack it with its password first\n"},
		{"cut gzip", "a.gz", gzText[:len(gzText)-12], Limits{}, ErrTruncated, "a: READ input: read ROOT: data ends too early: the file is cut off (unexpected EOF)\n"},
		{"gzip cut in its header", "a.gz", gzText[:5], Limits{}, ErrTruncated, "a.gz: input: read ROOT: data ends too early: the file is cut off (unexpected EOF)\n"},
		{"gzip with a wrong checksum", "a.gz", badCRC, Limits{}, ErrFormat, "a: READ input: read ROOT: not in the format it should have: the stored checksum does not fit the bytes (gzip: invalid checksum)\n"},
		{"garbage after gzip", "a.gz", append(bytes.Clone(gzText), strings.Repeat("garbage", 9)...), Limits{}, ErrFormat, "a: READ input: read ROOT: not in the format it should have: gzip: invalid header\n"},
		{"cut zstd", "a.zst", zst(t, book())[:200_000], Limits{}, ErrTruncated, ""},
		{"cut zip", "a.zip", zipText[:len(zipText)-30], Limits{}, ErrTruncated, ": input: open ROOT: data ends too early: its directory, which stands at the end of a zip, is missing or damaged (zip: not a valid zip file); get it again\n"},
		{"cut tar", "a.tar", tarText[:1200], Limits{}, ErrTruncated, "a = \"110 bytes\"\n: input: read ROOT: data ends too early: the file is cut off (unexpected EOF)\n"},
		{"tar cut between members", "a.tar", tarText[:1024], Limits{}, ErrTruncated, "a = \"110 bytes\"\n: input: read ROOT: data ends too early: the end mark after entry 1 is missing\n"},
		{"tar.gz of a tar cut between members", "a.tgz", gz(t, tarText[:1024]), Limits{}, ErrTruncated, "a = \"110 bytes\"\n: input: read ROOT: data ends too early: the end mark after entry 1 is missing\n"},
		{"cut tar.gz", "a.tgz", gz(t, tarOf(t, entry{name: "a", body: "x"}, entry{name: "b", body: string(book())}))[:100_000], Limits{}, ErrTruncated, "a = \"x\"\nb: READ input: "},
		{"two tars", "a.tar", append(bytes.Clone(tarText), tarText...), Limits{}, ErrFormat, ""},
		{"no gzip", "a.gz", []byte("<html>404</html>"), Limits{}, ErrFormat, `a.gz: input: open ROOT: not in the format it should have: its name promises gzip, but it begins with "<html>40"; if it is unpacked already, drop .gz from its name` + "\n"},
		{"empty gzip", "a.gz", nil, Limits{}, ErrTruncated, "a.gz: input: open ROOT: data ends too early: the file is empty, its name promises gzip\n"},
		{"no tar in a tar.gz", "a.tar.gz", gzText, Limits{}, ErrFormat, ""},
		{"xz", "a.txt", []byte("\xfd7zXZ\x00..."), Limits{}, ErrFormat, "a.txt: input: open ROOT: not in the format it should have: xz is not read here, unpack it first (gzip, zstd, bzip2, tar and zip are)\n"},
		{"zip with other bytes", "a.zip", bytes.Replace(zipOf(t, entry{"a", "good body", func(z *zip.FileHeader, _ *tar.Header) { z.Method = zip.Store }}), []byte("good"), []byte("evil"), 1), Limits{}, ErrFormat,
			"a: input: read ROOT/a: not in the format it should have: the stored checksum does not fit the bytes (zip: checksum error)\n"},
		{"zip that declares less", "a.zip", lyingZip(t, 50, strings.Repeat("x", 100)), Limits{}, ErrFormat, ""},
		{"zip that declares more", "a.zip", lyingZip(t, 200, strings.Repeat("x", 100)), Limits{}, ErrTruncated, ""},
		{"overlapping zip", "a.zip", overlappingZip(t), Limits{}, ErrOverlap, ": input: open ROOT: archive entries overlap: \"f0\" and \"f1\"\n"},
		{"sparse tar", "a.tar", sparseTar(t), Limits{}, ErrSpecial, "s: input: open ROOT/s: not a regular file but a sparse file; pack it again without --sparse\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := put(t, filepath.Join(t.TempDir(), tt.file), tt.data)
			got := look(t, root, tt.lim)
			if !strings.HasPrefix(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			var found error
			for f, err := range Walk(t.Context(), root, tt.lim) {
				if err == nil {
					_, _, err = ReadFile(f)
				}
				if err != nil && found == nil {
					found = err
				}
			}
			if !errors.Is(found, tt.is) || tt.is != nil && KindOf(found) != Input {
				t.Errorf("first error (%v) %v", KindOf(found), found)
			}
			t.Log(strings.TrimSpace(got))
		})
	}
}

// lyingZip has a directory that declares another length than the data have.
func lyingZip(t *testing.T, declared uint64, body string) []byte {
	var packed bytes.Buffer
	fw, _ := flate.NewWriter(&packed, flate.BestCompression)
	io.WriteString(fw, body)
	fw.Close()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.CreateRaw(&zip.FileHeader{Name: "a", Method: zip.Deflate, CRC32: crc32.ChecksumIEEE([]byte(body)), CompressedSize64: uint64(packed.Len()), UncompressedSize64: declared})
	if err != nil {
		t.Fatal(err)
	}
	f.Write(packed.Bytes())
	w.Close()
	return b.Bytes()
}

// overlappingZip has two directory entries for the same bytes, the trick of
// bombs that decompress to petabytes without any recursion.
func overlappingZip(t *testing.T) []byte {
	z := zipOf(t, entry{name: "f0", body: "same bytes"}, entry{name: "f1", body: "same bytes"})
	end := bytes.LastIndex(z, []byte("PK\x05\x06"))
	second := bytes.LastIndex(z[:end], []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(z[second+42:], 0) // offset of its local header
	return z
}

// sparseTar declares a gigabyte in no block of data, in the old GNU form.
func sparseTar(t *testing.T) []byte {
	out := tarOf(t, entry{"s", "", func(_ *zip.FileHeader, h *tar.Header) { h.Format = tar.FormatGNU }})
	const giga = "10000000000\x00" // octal
	out[156] = tar.TypeGNUSparse
	copy(out[386:], giga)              // the only fragment begins at the end
	copy(out[398:], "00000000000\x00") // and has no bytes
	copy(out[483:], giga)              // real size
	copy(out[148:156], "        ")
	sum := 0
	for _, c := range out[:512] {
		sum += int(c)
	}
	copy(out[148:156], fmt.Sprintf("%06o\x00 ", sum))
	return out
}

// Two members of one archive open at once, members kept for later, members
// read in another order or in other goroutines: always the right bytes.
func TestWalkOpenAnyTime(t *testing.T) {
	entries := []entry{{name: "train.source", body: strings.Repeat("source\n", 5000)}, {name: "train.target", body: strings.Repeat("target\n", 5000)}, {name: "x.gz", body: string(gz(t, []byte("packed")))}, {name: "last", body: "last"}}
	want := map[string]string{"train.source": entries[0].body, "train.target": entries[1].body, "x": "packed", "last": "last"}
	dir := t.TempDir()
	for _, root := range []string{
		put(t, dir+"/a.tar.gz", gz(t, tarOf(t, entries...))),
		put(t, dir+"/a.tar", tarOf(t, entries...)),
		put(t, dir+"/a.zip", zipOf(t, entries...)),
		put(t, dir+"/b.zip.gz", gz(t, zipOf(t, entries...))),
		put(t, dir+"/c.tar.zst", zst(t, tarOf(t, entry{name: "in.zip", body: string(zipOf(t, entries...))}))),
	} {
		t.Run(filepath.Base(root), func(t *testing.T) {
			var files []File
			var open []io.ReadCloser
			for f, err := range Walk(t.Context(), root, Limits{TempDir: t.TempDir()}) {
				if err != nil {
					t.Fatal(err)
				}
				files = append(files, f)
				// Left open, half read, across the steps of the loop.
				r, err := f.Open()
				if err != nil {
					t.Fatal(err)
				}
				io.ReadFull(r, make([]byte, 3))
				open = append(open, r)
			}
			if len(files) != 4 {
				t.Fatalf("%d files", len(files))
			}
			for i, f := range slices.Backward(files) {
				name := filepath.Base(f.Name)
				rest, err := io.ReadAll(open[i])
				if err != nil || string(rest) != want[name][3:] {
					t.Errorf("%s held open: %d bytes, %v", name, len(rest), err)
				}
				if err := open[i].Close(); err != nil {
					t.Errorf("%s: Close: %v", name, err)
				}
				if _, err := open[i].Read(make([]byte, 1)); err == nil || err == io.EOF {
					t.Errorf("%s: read after Close: %v", name, err)
				}
				data, _, err := ReadFile(f)
				if err != nil || string(data) != want[name] {
					t.Errorf("%s later: %d bytes, %v", name, len(data), err)
				}
				r, err := f.OpenAt()
				if err != nil {
					t.Fatalf("%s: OpenAt: %v", name, err)
				}
				tail := make([]byte, 3)
				if n, err := r.ReadAt(tail, r.Size()-3); n != 3 || !strings.HasSuffix(want[name], string(tail)) || r.Size() != int64(len(want[name])) {
					t.Errorf("%s: OpenAt reads %q of %d bytes, %v", name, tail, r.Size(), err)
				}
				if err := r.Close(); err != nil {
					t.Errorf("%s: OpenAt: Close: %v", name, err)
				}
			}
		})
	}
}

// The usual loop over a compressed tar decompresses it once, and reading its
// members later a few times.
func TestWalkTarReadOnce(t *testing.T) {
	var entries []entry
	for i := range 200 {
		entries = append(entries, entry{name: fmt.Sprintf("%03d.txt", i), body: strings.Repeat(fmt.Sprint(i), 2000)})
	}
	data := gz(t, tarOf(t, entries...))
	opened := 0
	w := &walker{ctx: t.Context(), lim: DefaultLimits(), root: "x"}
	n := 0
	var files []File
	w.yield = func(f File, err error) bool {
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := ReadFile(f); err != nil {
			t.Fatal(err)
		}
		n++
		files = append(files, f)
		return true
	}
	b := blob{name: "x.tgz", stored: "x.tgz", path: "x.tgz", size: int64(len(data)), budget: &budget{disk: int64(len(data)), lim: w.lim},
		open: func() (io.ReadCloser, error) { opened++; return io.NopCloser(bytes.NewReader(data)), nil }}
	w.visit(b, map[string]bool{}, false)
	// Twice to look at the first bytes (compressed, then decompressed), once to read.
	if n != 200 || opened != 3 {
		t.Errorf("%d files, archive opened %d times", n, opened)
	}
	// Listed first and read afterwards, it is not decompressed 200 times.
	opened = 0
	for i, f := range files {
		data, _, err := ReadFile(f)
		if err != nil || string(data) != entries[i].body {
			t.Fatalf("%s: %d bytes, %v", f.Name, len(data), err)
		}
	}
	if opened != lateStreams+1 {
		t.Errorf("archive opened %d times for reading the files afterwards", opened)
	}
}

// Temporary copies go when the walk does, also when the consumer leaves early.
func TestWalkLeavesNoTemp(t *testing.T) {
	temp := t.TempDir()
	root := put(t, t.TempDir()+"/a.tgz", gz(t, tarOf(t, entry{name: "in.zip", body: string(zipOf(t, entry{name: "a", body: "1"}, entry{name: "b", body: "2"}))})))
	for f, err := range Walk(t.Context(), root, Limits{TempDir: temp}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Open(); err != nil { // never closed
			t.Fatal(err)
		}
		break
	}
	if l := listing(t, temp); runtime.GOOS != "windows" && l != "" {
		t.Errorf("left: %s", l)
	}
	for _, err := range Walk(t.Context(), root, Limits{TempDir: temp + "/missing"}) {
		if KindOf(err) != Disk {
			t.Errorf("no room for temporary files: %v", err)
		}
	}
}

func TestWalkFolderRefuses(t *testing.T) {
	dir := t.TempDir()
	outside := put(t, t.TempDir()+"/secret", []byte("secret"))
	put(t, dir+"/in/a.txt", []byte("a"))
	symlink(t, outside, dir+"/absolute")
	symlink(t, "../../"+filepath.Base(filepath.Dir(outside))+"/secret", dir+"/in/relative")
	symlink(t, filepath.Dir(outside), dir+"/outfolder")
	symlink(t, "nowhere", dir+"/dangling")
	symlink(t, "loop", dir+"/loop")
	symlink(t, "/dev/zero", dir+"/zero")
	symlink(t, "..", dir+"/in/up")
	if err := mkfifo(dir + "/pipe"); err != nil {
		t.Skipf("no named pipes here: %v", err)
	}
	symlink(t, "pipe", dir+"/pipelink")
	put(t, dir+"/caf\xe9\n.txt", []byte("e"))
	got := look(t, dir, Limits{})
	var names []string
	for line := range strings.Lines(got) {
		name, _, _ := strings.Cut(line, ":")
		names = append(names, strings.TrimSpace(name))
	}
	want := []string{"absolute", `caf%E9%0A.txt = "e"`, "dangling", `in/a.txt = "a"`, "in/relative", "loop", "outfolder", "pipe", "pipelink", "zero"}
	if d := cmp.Diff(want, names); d != "" || strings.Contains(got, `"secret"`) && strings.Contains(got, `= "secret"`) {
		t.Errorf("-want +got:\n%s\n%s", d, got)
	}
	t.Log(got)
}

// A file may change between listing and opening, between two reads, or be
// replaced by something that is no file.
func TestWalkChanges(t *testing.T) {
	dir := t.TempDir()
	path := put(t, dir+"/a.txt", bytes.Repeat([]byte("x"), 100_000))
	zipped := put(t, dir+"/b.zip", zipOf(t, entry{name: "m", body: string(book())}))
	files := map[string]File{}
	list := func() {
		for f, err := range Walk(t.Context(), dir, Limits{}) {
			if err != nil {
				t.Fatal(err)
			}
			files[f.Name] = f
		}
	}
	touch := func(path string) {
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	appendTo := func(path string) {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString("y")
		f.Close()
	}
	for _, name := range []string{"a.txt", "b.zip/m"} {
		on := map[string]string{"a.txt": path, "b.zip/m": zipped}[name]
		for how, change := range map[string]func(string){"touched": touch, "grown": appendTo, "cut": func(p string) { os.Truncate(p, 10) }} {
			whole, _ := os.ReadFile(on)
			list()
			r, err := files[name].Open()
			if err != nil {
				t.Fatal(err)
			}
			io.ReadFull(r, make([]byte, 10))
			change(on)
			_, err = io.Copy(io.Discard, r)
			if !errors.Is(err, ErrChanged) && !(how == "cut" && name != "a.txt" && KindOf(err) == Input) || KindOf(err) != Input {
				t.Errorf("%s %s while read: %v", name, how, err)
			}
			r.Close()
			if _, _, err := ReadFile(files[name]); !errors.Is(err, ErrChanged) {
				t.Errorf("%s %s before it is opened: %v", name, how, err)
			}
			// Left before the end: Close tells.
			put(t, on, whole)
			list()
			if r, err = files[name].Open(); err != nil {
				t.Fatal(err)
			}
			io.ReadFull(r, make([]byte, 10))
			change(on)
			if err := r.Close(); !errors.Is(err, ErrChanged) {
				t.Errorf("%s %s and closed early: %v", name, how, err)
			}
			put(t, on, whole)
		}
	}
	list()
	os.Remove(path)
	if _, err := files["a.txt"].Open(); KindOf(err) != Input || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed: %v", err)
	}
	if runtime.GOOS != "windows" {
		if err := mkfifo(path); err != nil {
			t.Fatal(err)
		}
		if _, err := files["a.txt"].Open(); !errors.Is(err, ErrSpecial) {
			t.Errorf("replaced by a pipe: %v", err)
		}
		os.Remove(path)
		symlink(t, put(t, t.TempDir()+"/secret", bytes.Repeat([]byte("x"), 100_000)), path)
		if _, err := files["a.txt"].Open(); KindOf(err) == 0 {
			t.Errorf("replaced by a link out of the root: %v", err)
		}
	}
}

func TestWalkContext(t *testing.T) {
	dir := t.TempDir()
	for i := range 10 {
		put(t, fmt.Sprintf("%s/%d", dir, i), []byte("x"))
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	n := 0
	var last error
	var first File
	for f, err := range Walk(ctx, dir, Limits{}) {
		if n++; n == 1 {
			first = f
			cancel(cause)
		}
		last = err
	}
	if n != 2 || !errors.Is(last, context.Canceled) || !errors.Is(last, cause) || KindOf(last) != 0 {
		t.Errorf("%d steps, then %v", n, last)
	}
	if _, _, err := ReadFile(first); !errors.Is(err, context.Canceled) || KindOf(err) != 0 {
		t.Errorf("read after the end: %v", err)
	}
	// Also from inside a decompressor, which knows nothing of contexts.
	root := put(t, t.TempDir()+"/a.gz", gz(t, book()))
	ctx, cancel = context.WithCancelCause(t.Context())
	defer cancel(nil)
	for f, err := range Walk(ctx, root, Limits{}) {
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		cancel(cause)
		if _, err := io.Copy(io.Discard, r); !errors.Is(err, context.Canceled) || KindOf(err) != 0 {
			t.Errorf("read after the end: %v", err)
		}
		r.Close()
		break
	}
}

func TestDecompress(t *testing.T) {
	text := []byte("hello\n")
	for name, data := range map[string][]byte{"a.gz": gz(t, text), "a": gz(t, text), "a.zst": zst(t, text), "a.bz2": bz2, "a.txt": text, "b.txt": zst(t, text)} {
		r, err := Decompress(bytes.NewReader(data), name, Limits{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		r.Close()
	}
	down := &Error{"get", "url", Network, errors.New("reset")}
	for _, tt := range []struct {
		name string
		r    io.Reader
		lim  Limits
		kind Kind
		is   error
	}{
		{"a.gz", bytes.NewReader(text), Limits{}, Input, ErrFormat},
		{"a.zip", bytes.NewReader(zipOf(t)), Limits{}, Input, ErrFormat},
		{"a.gz", bytes.NewReader(gz(t, make([]byte, 1<<20))), Limits{RatioFloor: 1}, Input, ErrRatio},
		{"a.txt", bytes.NewReader(text), Limits{MaxFile: 2}, Input, ErrTooLarge},
		{"a.gz", io.MultiReader(bytes.NewReader(gz(t, book())[:100_000]), &failing{down}), Limits{}, Network, down},
		{"a.txt", &failing{down}, Limits{}, Network, down},
	} {
		r, err := Decompress(tt.r, tt.name, tt.lim)
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if KindOf(err) != tt.kind || !errors.Is(err, tt.is) {
			t.Errorf("%s: kind %v, %v", tt.name, KindOf(err), err)
		}
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// A File made by hand, as tests of other packages do.
func TestFileByHand(t *testing.T) {
	f := File{Name: "x", Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("abc")), nil }}
	data, sum, err := ReadFile(f)
	if string(data) != "abc" || sum != hexSum([]byte("abc")) || err != nil {
		t.Errorf("%q, %s, %v", data, sum, err)
	}
	if s, n, err := Sum(f); s != sum || n != 3 || err != nil {
		t.Errorf("Sum: %s, %d, %v", s, n, err)
	}
	r, err := f.OpenAt()
	if err != nil || r.Size() != 3 {
		t.Fatalf("OpenAt: %v", err)
	}
	r.Close()
}

// TestOneFile reads a file that is plain, packed, an archive, or not there:
// from its start, at any place, and its hash as it is stored.
func TestOneFile(t *testing.T) {
	dir := t.TempDir()
	text := "A mill.\nA miller.\n"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := io.WriteString(z, text)
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{"a.txt": text, "a.txt.gz": packed.String(), "empty": ""} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
		want := text
		if data == "" {
			want = ""
		}
		f := OneFile(path)
		if got, _, err := ReadFile(f); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		at, err := f.OpenAt()
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, at.Size())
		if n, err := at.ReadAt(got, 0); n < len(got) || string(got) != want {
			t.Errorf("%s in place: %q, %v", name, got, err)
		}
		if err := at.Close(); err != nil {
			t.Error(err)
		}
		if sum, n, err := HashFile(path); err != nil || n != int64(len(data)) || sum != hexSum([]byte(data)) {
			t.Errorf("%s: %d bytes of hash %s, %v", name, n, sum, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "a.gz"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"none": "open %s: " + notExist(t), // once, though the system names it too
		"a.gz": "open %s: not in the format it should have: ",
	} {
		path := filepath.Join(dir, name)
		want = fmt.Sprintf(want, path)
		_, _, err := ReadFile(OneFile(path))
		_, errAt := OneFile(path).OpenAt()
		for _, err := range []error{err, errAt} {
			if KindOf(err) != Input || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
		}
	}
}

// notExist is the system's word for a file that is not there.
func notExist(t *testing.T) string {
	_, err := os.Stat(filepath.Join(t.TempDir(), "x"))
	var p *fs.PathError
	if !errors.As(err, &p) {
		t.Fatal(err)
	}
	return p.Err.Error()
}

// TestErrorNamesOnce wraps errors in errors about the same file.
func TestErrorNamesOnce(t *testing.T) {
	bad := errors.New("bad")
	for _, c := range []struct {
		err  error
		want string
	}{
		{&Error{"open", "a", Input, &fs.PathError{Op: "open", Path: "a", Err: bad}}, "open a: bad"},
		{&Error{"open", "a", Input, &fs.PathError{Op: "open", Path: "a/b", Err: bad}}, "open a: b: bad"},
		{&Error{"open", "a", Input, &fs.PathError{Op: "open", Path: "ab", Err: bad}}, "open a: open ab: bad"},
		{&Error{"read", "a", Input, &Error{"open", "a: line 3", Disk, bad}}, "open a: line 3: bad"},
		{&Error{"read", "a/", Input, &Error{"open", "a/b", Disk, bad}}, "open a/b: bad"},
		{&Error{"read", "a", Input, &Error{"open", "ab", Disk, bad}}, "read a: open ab: bad"},
		{&Error{"read", "b", Input, &Error{"open", "a", Disk, bad}}, "read b: open a: bad"},
		{&Error{"read", "a", Input, &RowError{"a", 2, 3, 3, bad}}, "read a: line 3: row 2: bad"},
		{&Error{"read", "a", Input, &RowError{"b", 2, 3, 3, bad}}, "read a: b: line 3: row 2: bad"},
		{&Error{"read", "a", Input, &RowError{"", 2, 3, 3, bad}}, "read a: line 3: row 2: bad"},
		{&Error{"read", "", Input, bad}, "read: bad"},
	} {
		if c.err.Error() != c.want || !errors.Is(c.err, bad) {
			t.Errorf("%q, want %q", c.err, c.want)
		}
	}
}
