// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// maxName is the longest member name taken, in bytes; Linux's PATH_MAX.
const maxName = 4096

// cleanMember turns the name of an archive member into a tree name. Nothing is
// ever extracted, but names reach records, messages and people who extract:
// whatever would leave the root on any system is refused, not repaired.
// backslash says that a backslash separates folders, as in zips made on
// Windows; it is checked for escapes either way.
func cleanMember(raw string, backslash bool) (string, error) {
	bad := func(why string) (string, error) {
		return "", fmt.Errorf("%w: %s %s", ErrName, quoteName(raw), why)
	}
	slashed := strings.ReplaceAll(raw, `\`, "/")
	switch {
	case raw == "" || strings.Trim(slashed, "./") == "" && !strings.Contains(slashed, ".."):
		return bad("is empty")
	case len(raw) > maxName:
		return bad(fmt.Sprintf("has %d bytes, limit %d", len(raw), maxName))
	case strings.HasPrefix(slashed, "/"):
		return bad("is absolute")
	case len(slashed) >= 2 && slashed[1] == ':' && isLetter(slashed[0]):
		return bad("names a drive")
	case strings.IndexByte(raw, 0) >= 0:
		return bad("holds a zero byte")
	}
	for elem := range strings.SplitSeq(slashed, "/") {
		// Windows drops blanks and dots at the end: ".. " is ".." there.
		if t := strings.TrimRight(elem, " "); t == ".." || len(t) > 2 && strings.Trim(t, ". ") == "" {
			return bad("climbs out of its folder")
		}
	}
	name := raw
	if backslash {
		name = slashed
	}
	return escape(path.Clean(name)), nil
}

// cleanOS is a name from the file system, which cannot escape but may be any bytes.
func cleanOS(rel string) string { return escape(filepath.ToSlash(rel)) }

// safeName shows a refused name in a form that is no path out of anywhere.
func safeName(raw string) string {
	raw = strings.ReplaceAll(raw, `\`, "/")
	if len(raw) > 255 {
		raw = raw[:255]
	}
	elems := strings.Split(raw, "/")
	for i, e := range elems {
		if strings.Trim(e, ". ") == "" {
			elems[i] = strings.ReplaceAll(e, ".", "%2E")
		}
	}
	s := strings.TrimRight(escape(strings.Join(elems, "/")), "/")
	if strings.HasPrefix(s, "/") {
		s = "%2F" + s[1:]
	}
	for strings.Contains(s, "//") {
		s = strings.ReplaceAll(s, "//", "/%2F")
	}
	if s == "" {
		return "%00"
	}
	return s
}

// escape writes invalid UTF-8 and control characters as %XX: names reach JSON
// records, where invalid UTF-8 is an error, and terminals.
func escape(s string) string {
	clean := true
	for _, r := range s {
		if r == utf8.RuneError || r < 0x20 || r == 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || r < 0x20 || r == 0x7f {
			fmt.Fprintf(&b, "%%%02X", s[i])
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

func quoteName(raw string) string {
	if len(raw) > 120 {
		return fmt.Sprintf("%q...", raw[:120])
	}
	return fmt.Sprintf("%q", raw)
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// hiddenPath reports whether any element of a slash-separated name is hidden.
func hiddenPath(name string) bool {
	for elem := range strings.SplitSeq(name, "/") {
		if hidden(elem) {
			return true
		}
	}
	return false
}

// trimSuffix takes the suffix of a compression off a name: a.gz is a, a.tgz is a.tar.
func trimSuffix(name string, f format) string {
	ext := path.Ext(name)
	rest := name[:len(name)-len(ext)]
	if rest == "" || strings.HasSuffix(rest, "/") {
		return name
	}
	switch e := strings.ToLower(ext); {
	case f == gzipFormat && (e == ".gz" || e == ".gzip"),
		f == zstdFormat && (e == ".zst" || e == ".zstd"),
		f == bzip2Format && (e == ".bz2" || e == ".bzip2"):
		return rest
	case f == gzipFormat && e == ".tgz", f == bzip2Format && (e == ".tbz" || e == ".tbz2"), f == zstdFormat && e == ".tzst":
		return rest + ".tar"
	}
	return name
}
