package verdict

import (
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Parts is a set of the attributes that the judgement of a span may add to it.
type Parts uint8

// The parts.
const (
	PartMargin Parts = 1 << iota
	PartLate
	PartRatio
	PartOutcome
	PartPostCancel
)

// PartKeys are the attributes of the parts, in the order of their bits.
var PartKeys = [...]string{budgetattr.MarginKey, budgetattr.LateKey, budgetattr.UsedRatioKey, budgetattr.OutcomeKey, budgetattr.PostCancelTimeKey}

// Additions are what a judgement adds to a span.
type Additions struct {
	Parts    Parts
	Inferred bool   // some part was derived by a rule
	Rules    string // the names of all rules then, separated by commas
}

// Adds returns what was derived and is not among the parts that the span had: margin, ratio, late, outcome on entries,
// post-cancel time anywhere. Rules are the names of the rules that inferred facts before. The ratio, and late beside a
// recorded margin, have no rule: they are another form of what is there.
func (v *SpanVerdict) Adds(had Parts, rules string) Additions {
	a := Additions{Rules: rules}
	by := 0
	derive := func(rule int, parts Parts) {
		if parts &^= had; parts != 0 {
			a.Parts |= parts
			by |= rule
		}
	}
	if v.MarginInferred {
		derive(1, PartMargin|PartLate)
	}
	if v.OutcomeInferred && v.Entry && (v.HasBudget || v.Outcome != budgetattr.OutcomeDone) {
		derive(2, PartOutcome)
	}
	if v.PostCancelInferred {
		derive(4, PartPostCancel)
	}
	if v.HasRatio {
		a.Parts |= PartRatio &^ had
	}
	if v.HasMargin {
		a.Parts |= PartLate &^ had
	}
	a.Inferred = by != 0
	switch {
	case rules == "":
		a.Rules = rulesOf[by]
	case by != 0:
		for i, rule := range inferring {
			if by&(1<<i) != 0 && !span.HasRule(a.Rules, rule) {
				a.Rules += "," + rule
			}
		}
	}
	return a
}

// inferring are the rules of a judgement, by their bits; rulesOf are their names for each set of them.
var (
	inferring = [...]string{InferredMargin, InferredOutcome, InferredPostCancel}
	rulesOf   = [1 << len(inferring)]string{
		1: InferredMargin, 2: InferredOutcome, 3: InferredMargin + "," + InferredOutcome, 4: InferredPostCancel,
		5: InferredMargin + "," + InferredPostCancel, 6: InferredOutcome + "," + InferredPostCancel,
		7: InferredMargin + "," + InferredOutcome + "," + InferredPostCancel,
	}
)

// Annotate writes onto the span what Adds names. It never overwrites what is there, and marks the span as inferred if a rule
// derived anything.
func (v SpanVerdict) Annotate(s *span.Span) {
	had := Parts(0)
	for i, key := range PartKeys {
		if s.Attrs.Has(key) {
			had |= 1 << i
		}
	}
	a := v.Adds(had, s.Attrs.String(budgetattr.InferredRuleKey))
	if a.Parts != 0 && s.Attrs == nil {
		s.Attrs = span.Attributes{}
	}
	for i, key := range PartKeys {
		switch a.Parts & (1 << i) {
		case PartMargin:
			s.Attrs[key] = v.Margin.Seconds()
		case PartLate:
			s.Attrs[key] = v.Late
		case PartRatio:
			s.Attrs[key] = v.Ratio
		case PartOutcome:
			s.Attrs[key] = string(v.Outcome)
		case PartPostCancel:
			s.Attrs[key] = v.PostCancel.Seconds()
		}
	}
	if a.Inferred {
		s.Attrs[budgetattr.InferredKey], s.Attrs[budgetattr.InferredRuleKey] = true, a.Rules
	}
}
