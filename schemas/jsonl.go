// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
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

// ParseLine reads one JSON line into v. Unknown fields, keys that stand twice
// and trailing data are errors: a record of another version must not be read
// half.
func ParseLine(line []byte, v any) error {
	if !utf8.Valid(line) {
		return ErrInvalidUTF8
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return JSONFault(err)
	}
	if dec.More() {
		return errors.New("more than one value on the line")
	}
	return keysOnceFor(line, v)
}

// ParseForeign reads a JSON text of somebody else's into v: fields that v does
// not have are passed over; keys that stand twice and bytes that are not UTF-8,
// which encoding/json would replace, are errors.
func ParseForeign(data []byte, v any) error {
	if !utf8.Valid(data) {
		return ErrInvalidUTF8
	}
	if err := json.Unmarshal(data, v); err != nil {
		return JSONFault(err)
	}
	return keysOnceFor(data, v)
}

// JSONFault says in words of the data what encoding/json says in words of Go:
// which field of a document is of the wrong kind, and which kind is wanted.
// Errors that are not that package's come back as they are.
func JSONFault(err error) error {
	var t *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case err == io.EOF: // bare: the decoder's, of nothing but white space
		return errors.New("there is no JSON here")
	case errors.As(err, &t):
		return fmt.Errorf("%s is a JSON %s, want %s", cmp.Or(t.Field, "this"), t.Value, jsonKind(t.Type))
	}
	if msg, ok := strings.CutPrefix(err.Error(), "json: "); ok {
		return errors.New(msg)
	}
	return err
}

// jsonKind is what JSON calls a value of the type.
func jsonKind(typ reflect.Type) string {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch typ.Kind() {
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number from 0"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "another value"
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
