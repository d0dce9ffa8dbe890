// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"encoding/json"
	"io"

	"github.com/retcon-bench/retcon/schemas"
)

func writeCard(w io.Writer, m schemas.Manifest, tables []Table) error {
	_, err := io.WriteString(w, "# "+m.Name+"\n")
	return err
}

func writeLicence(w io.Writer, m schemas.Manifest, tables []Table) error {
	_, err := io.WriteString(w, "see README.md\n")
	return err
}

// RecipeHash is the SHA-256 of a resolved recipe's JSON, in hex.
func RecipeHash(r schemas.Recipe) (string, error) {
	b, err := json.Marshal(r)
	return schemas.HashText(string(b)), err
}
