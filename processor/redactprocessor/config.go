package redactprocessor

import (
	"go.opentelemetry.io/collector/config/configopaque"

	"github.com/laxity-dev/laxity/internal/redact"
)

// Config says what must not be stored; see redact.Config.
type Config struct {
	Keys   []Key               `mapstructure:"keys"`
	Values []string            `mapstructure:"values"`
	Salt   configopaque.String `mapstructure:"salt"`
}

// The actions on a value.
const (
	Drop = redact.Drop
	Hash = redact.Hash
)

// Key names attributes, and what becomes of their values.
type Key = redact.Key

// Rules are what the configuration says.
func (c *Config) Rules() redact.Config {
	return redact.Config{Keys: c.Keys, Values: c.Values, Salt: string(c.Salt)}
}

// Validate reports what is wrong.
func (c *Config) Validate() error { return c.Rules().Validate() }
