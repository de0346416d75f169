package span

import (
	"strings"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// RuleBudgetFrom is the rule by which an attribute of another system is taken as a budget.
const RuleBudgetFrom = "budget_from"

// Infer sets an attribute that was derived by the named rule, unless the span already has it, and marks the span: it then
// carries deadline.inferred, and deadline.inferred.rule names the rule beside those of earlier calls, separated by commas.
// It reports whether the attribute was set.
func (s *Span) Infer(rule, key string, value any) bool {
	if s.Attrs.Has(key) {
		return false
	}
	if s.Attrs == nil {
		s.Attrs = Attributes{}
	}
	s.Attrs[key] = value
	s.Attrs[budgetattr.InferredKey] = true
	if !s.InferredBy(rule) {
		if names := s.Attrs.String(budgetattr.InferredRuleKey); names != "" {
			rule = names + "," + rule
		}
		s.Attrs[budgetattr.InferredRuleKey] = rule
	}
	return true
}

// InferredBy reports whether a fact on the span was derived by the named rule.
func (s *Span) InferredBy(rule string) bool {
	return HasRule(s.Attrs.String(budgetattr.InferredRuleKey), rule)
}

// HasRule reports whether a rule is among names separated by commas.
func HasRule(names, rule string) bool {
	for names != "" {
		var name string
		name, names, _ = strings.Cut(names, ",")
		if name == rule {
			return true
		}
	}
	return false
}
