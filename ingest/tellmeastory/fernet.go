// SPDX-License-Identifier: Apache-2.0

package tellmeastory

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/retcon-bench/retcon/internal/fetch"
)

// How the open corpus is encrypted, by the README of its repository: a file is
// one Fernet token (AES-128 in CBC mode, HMAC-SHA256, base64url; the
// specification is at github.com/fernet/spec). The Fernet key lies encrypted in
// skey.key, by RSA with OAEP, SHA-256 in both places and no label; the RSA key
// is private_key.pem, without a password.

// fernetStart is how every Fernet token begins: version 0x80 and a time before
// the year 36812.
const fernetStart = "gAAAAA"

// keys are the files of a tree that may be the two keys.
type keys struct {
	private   []fetch.File
	symmetric []fetch.File
}

const keyHint = "put skey.key and private_key.pem of github.com/google-deepmind/tell_me_a_story into the folder, or decrypt the file as its README shows"

// decrypt opens a token with whatever keys there are.
func (k keys) decrypt(token []byte) ([]byte, error) {
	if len(k.symmetric) == 0 {
		return nil, fmt.Errorf("the file is encrypted and no *.key file was found; %s", keyHint)
	}
	var errs []error
	for _, f := range k.symmetric {
		sealed, _, err := fetch.ReadFile(f)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		key, err := k.fernetKey(sealed)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.Name, err))
			continue
		}
		plain, err := fernet(key, token)
		if err == nil {
			return plain, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", f.Name, err))
	}
	return nil, fmt.Errorf("the file is encrypted and could not be opened: %w; %s", errors.Join(errs...), keyHint)
}

// fernetKey is the key in a key file: as it is, or sealed for one of the
// private keys.
func (k keys) fernetKey(data []byte) ([]byte, error) {
	if key, err := parseKey(data); err == nil {
		return key, nil
	}
	if len(k.private) == 0 {
		return nil, errors.New("it is sealed, and no private key (private_key.pem) was found")
	}
	var errs []error
	for _, f := range k.private {
		pemData, _, err := fetch.ReadFile(f)
		if err == nil {
			var key *rsa.PrivateKey
			if key, err = parsePrivate(pemData); err == nil {
				var plain []byte
				if plain, err = rsa.DecryptOAEP(sha256.New(), nil, key, data, nil); err == nil {
					return parseKey(plain)
				}
			}
		}
		errs = append(errs, fmt.Errorf("%s: %w", f.Name, err))
	}
	return nil, errors.Join(errs...)
}

func parsePrivate(data []byte) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New("no PEM block")
	}
	switch block.Type {
	case "RSA PRIVATE KEY":
		return x509.ParsePKCS1PrivateKey(block.Bytes)
	case "PRIVATE KEY":
		k, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			return nil, err
		}
		if key, ok := k.(*rsa.PrivateKey); ok {
			return key, nil
		}
		return nil, fmt.Errorf("a key of type %T, RSA is wanted", k)
	}
	return nil, fmt.Errorf("a PEM block of type %q, a private key without password is wanted", block.Type)
}

// parseKey reads the 32 bytes of a Fernet key: 16 to sign, 16 to encrypt.
func parseKey(data []byte) ([]byte, error) {
	data = bytes.TrimSpace(data)
	key, err := base64.URLEncoding.DecodeString(string(data))
	if err != nil || len(key) != 32 {
		return nil, errors.New("no Fernet key (44 characters of base64url)")
	}
	return key, nil
}

// fernet verifies and decrypts a token. Its time is not looked at.
func fernet(key, token []byte) ([]byte, error) {
	token = bytes.TrimRight(bytes.TrimSpace(token), "=")
	data := make([]byte, base64.RawURLEncoding.DecodedLen(len(token)))
	n, err := base64.RawURLEncoding.Decode(data, token)
	if err != nil {
		return nil, fmt.Errorf("no Fernet token: %w", err)
	}
	data = data[:n]
	const head = 1 + 8 + aes.BlockSize // version, time, IV
	if len(data) < head+aes.BlockSize+sha256.Size || data[0] != 0x80 {
		return nil, errors.New("no Fernet token, or one that is cut off")
	}
	signed, sum := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	mac := hmac.New(sha256.New, key[:16])
	mac.Write(signed)
	if !hmac.Equal(mac.Sum(nil), sum) {
		return nil, errors.New("the signature is wrong: another key, or a damaged file")
	}
	body := signed[head:]
	if len(body)%aes.BlockSize != 0 {
		return nil, errors.New("the text is no whole number of blocks")
	}
	block, err := aes.NewCipher(key[16:])
	if err != nil {
		return nil, err
	}
	cipher.NewCBCDecrypter(block, signed[9:head]).CryptBlocks(body, body)
	pad := int(body[len(body)-1])
	if pad == 0 || pad > aes.BlockSize || !bytes.Equal(body[len(body)-pad:], bytes.Repeat([]byte{byte(pad)}, pad)) {
		return nil, errors.New("the padding is wrong")
	}
	return body[:len(body)-pad], nil
}
