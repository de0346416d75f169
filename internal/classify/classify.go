// Package classify turns what runtimes, drivers and proxies leave on a span (status codes, error types and texts, foreign
// budget attributes) into deadline.* attributes. Everything downstream reads only those.
package classify

import (
	"fmt"

	"github.com/laxity-dev/laxity/internal/span"
)

// Config of the classification. The zero value works. Safe for concurrent use.
type Config struct {
	// BudgetFrom maps attributes of other systems to budgets; the first one present on a span wins.
	BudgetFrom []BudgetFrom `mapstructure:"budget_from" yaml:"budget_from"`
}

// BudgetFrom is a foreign attribute that carries a budget, and its unit: s, ms, us or ns.
type BudgetFrom struct {
	Attribute string `mapstructure:"attribute" yaml:"attribute"`
	Unit      string `mapstructure:"unit" yaml:"unit"`
}

// Validate says what is wrong with the configuration.
func (c Config) Validate() error {
	for i, b := range c.BudgetFrom {
		if b.Attribute == "" {
			return fmt.Errorf("budget_from[%d]: attribute is empty", i)
		}
		if _, ok := units[b.Unit]; !ok {
			return fmt.Errorf("budget_from[%d]: unit %q is none of s, ms, us, ns", i, b.Unit)
		}
	}
	return nil
}

// units in seconds.
var units = map[string]float64{"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}

// Annotate sets deadline.* attributes that follow from the span, with deadline.inferred and the rule's name. It never
// overwrites an attribute that is there.
func Annotate(s *span.Span, c Config) {}
