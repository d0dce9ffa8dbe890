// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"bytes"
	"strings"
)

func looksHTML(name string, data []byte) bool {
	low := strings.ToLower(name)
	for _, ext := range []string{".htm", ".html", ".xhtml"} {
		if strings.HasSuffix(low, ext) {
			return true
		}
	}
	head := bytes.ToLower(bytes.TrimLeft(bytes.TrimPrefix(data[:min(len(data), 1024)], []byte("\xef\xbb\xbf")), " \t\r\n"))
	return bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html")) || bytes.HasPrefix(head, []byte("<?xml")) && bytes.Contains(head, []byte("<html"))
}

func htmlCharset(head []byte) string { return "" }

func (r *Reader) readHTML(s string) (*doc, frame) { return &doc{html: true, text: s}, frame{} }

func (d *doc) upstream(c cut) (int, int) { return c.start, c.end }
