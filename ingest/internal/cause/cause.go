// SPDX-License-Identifier: Apache-2.0

// Package cause says why a file could not be read without saying where on this
// machine it lies: notes on files get into artifacts, and those hold no path of
// the machine they were made on.
package cause

import (
	"errors"
	"io/fs"

	"github.com/retcon-bench/retcon/internal/fetch"
)

// Of returns err's cause with name, a path below the corpus folder, in place of
// the place on disk.
func Of(name string, err error) string {
	if fe := (*fetch.Error)(nil); errors.As(err, &fe) {
		err = fe.Err
	}
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err
	}
	return name + ": " + err.Error()
}
