// Package redact says what must not be stored: attributes that are dropped or hashed, texts that are masked. The collector's
// processor and the reader of attached tables share it.
package redact

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Config says what must not be stored.
type Config struct {
	// Keys of attributes of spans, resources, scopes, events and links. The first that matches counts.
	Keys []Key
	// Values are regular expressions; what matches one in any text of a span becomes ****.
	Values []string
	// Salt makes the hashes of one installation differ from those of all others.
	Salt string
}

// Key names attributes, and what becomes of their values.
type Key struct {
	// Pattern is a key in which * stands for any characters. With one, it never matches deadline.* and service.name.
	Pattern string `mapstructure:"pattern"`
	// Action is drop or hash.
	Action string `mapstructure:"action"`
}

// The actions on a value.
const (
	Drop = "drop"
	Hash = "hash"
)

// Empty: nothing is redacted.
func (c Config) Empty() bool { return len(c.Keys)+len(c.Values) == 0 }

// Validate reports what is wrong.
func (c Config) Validate() error {
	var errs []error
	for _, k := range c.Keys {
		switch {
		case k.Pattern == "":
			errs = append(errs, errors.New("redact: a pattern is empty"))
		case k.Pattern == "service.name":
			errs = append(errs, errors.New("redact: service.name cannot be redacted: everything is told apart by it"))
		case k.Action != Drop && k.Action != Hash:
			errs = append(errs, fmt.Errorf("redact: action %q of %s is not known; use drop or hash", k.Action, k.Pattern))
		case k.Action == Hash && c.Salt == "":
			errs = append(errs, fmt.Errorf("redact: to hash %s a salt is needed: without one, short values are found by trying", k.Pattern))
		}
	}
	for _, v := range c.Values {
		if _, err := regexp.Compile(v); err != nil {
			errs = append(errs, fmt.Errorf("redact: %w", err))
		}
	}
	return errors.Join(errs...)
}

// matcher returns the expression of a pattern.
func matcher(pattern string) *regexp.Regexp {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
}
