// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// ErrInvalidUTF8 is returned by [AppendLine] for a record that holds bytes
// that are not UTF-8. encoding/json would write U+FFFD in their place.
var ErrInvalidUTF8 = errors.New("record holds invalid UTF-8")

// AppendLine appends v as one JSON line: fields in struct order, no HTML
// escaping, a newline at the end.
func AppendLine(dst []byte, v any) ([]byte, error) {
	if path, bad := invalidString(reflect.ValueOf(v), ""); bad {
		return dst, fmt.Errorf("%w in field %s", ErrInvalidUTF8, path)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return dst, err
	}
	return append(dst, buf.Bytes()...), nil
}

// ParseLine reads one JSON line into v. Unknown fields and trailing data are
// errors: a record of another version must not be read half.
func ParseLine(line []byte, v any) error {
	if !utf8.Valid(line) {
		return ErrInvalidUTF8
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if dec.More() {
		return errors.New("more than one value on the line")
	}
	return nil
}

func invalidString(v reflect.Value, path string) (string, bool) {
	switch v.Kind() {
	case reflect.String:
		return path, !utf8.ValidString(v.String())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return invalidString(v.Elem(), path)
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return path, v.Kind() == reflect.Slice && !utf8.Valid(v.Bytes())
		}
		for i := range v.Len() {
			if p, bad := invalidString(v.Index(i), fmt.Sprintf("%s[%d]", path, i)); bad {
				return p, true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() && !f.Anonymous {
				continue
			}
			if p, bad := invalidString(v.Field(i), path+"."+f.Name); bad {
				return p, true
			}
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			if p, bad := invalidString(k, path); bad {
				return p, true
			}
			if p, bad := invalidString(v.MapIndex(k), path); bad {
				return p, true
			}
		}
	}
	return "", false
}
