package hop

import (
	"math"
	"strings"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Type says how a column holds a fact.
type Type uint8

// The types of facts. A fact that is absent is NULL, or ” for Code and Text.
const (
	Nanoseconds Type = iota // Nullable(Int64), from an attribute in seconds
	Count                   // Nullable(Int64)
	Number                  // Nullable(Float64)
	Flag                    // Nullable(Bool)
	Code                    // LowCardinality(String)
	Text                    // String
)

// Fact is one deadline.* attribute as a column of hops.
type Fact struct {
	Key    string
	Column string
	Type   Type
	signed bool // may be less than zero
}

// Facts are the attributes that hops keep, in the order of their columns: all of them, and the measured phases.
var Facts = facts()

// factByKey finds the index of a fact by the key of its attribute, factByColumn by its column.
var factByKey, factByColumn = index()

func facts() []Fact {
	var all []Fact
	for _, a := range budgetattr.All() {
		all = append(all, factOf(a))
	}
	for _, p := range phases {
		all = append(all, factOf(budgetattr.Attribute{Key: budgetattr.PhaseTime(p), Type: budgetattr.Float, Unit: "s"}))
	}
	return all
}

var phases = []budgetattr.Phase{
	budgetattr.PhaseQueue, budgetattr.PhasePool, budgetattr.PhaseDNS, budgetattr.PhaseConnect, budgetattr.PhaseTLS,
	budgetattr.PhaseRequest, budgetattr.PhaseFirstByte, budgetattr.PhaseFirstToken, budgetattr.PhaseBetweenTokens,
	budgetattr.PhaseBody, budgetattr.PhaseDBExecution, budgetattr.PhaseTotal,
}

func factOf(a budgetattr.Attribute) Fact {
	f := Fact{Key: a.Key, Column: strings.ReplaceAll(strings.TrimPrefix(a.Key, budgetattr.Prefix), ".", "_")}
	switch {
	case a.Type == budgetattr.Float && a.Unit == "s":
		f.Type, f.Column = Nanoseconds, f.Column+"_ns"
	case a.Type == budgetattr.Float:
		f.Type = Number
	case a.Type == budgetattr.Int:
		f.Type = Count
	case a.Type == budgetattr.Bool:
		f.Type = Flag
	case a.Key == budgetattr.DetachedIDKey, a.Key == budgetattr.EffectKeyKey:
		f.Type = Text
	default:
		f.Type = Code
	}
	switch a.Key {
	case budgetattr.MarginKey, budgetattr.RemainingBeforeKey, budgetattr.RemainingAfterKey, budgetattr.BudgetRequestedKey,
		budgetattr.BudgetReceivedKey, budgetattr.CancelAfterKey:
		f.signed = true
	}
	return f
}

func index() (byKey, byColumn map[string]int) {
	byKey, byColumn = map[string]int{}, map[string]int{}
	for i, f := range Facts {
		byKey[f.Key], byColumn[f.Column] = i, i
	}
	return byKey, byColumn
}

// Value is one fact that a row has. Bits holds nanoseconds, a count, the bits of a float64, or 0 and 1 for a flag.
type Value struct {
	Fact int // index into Facts
	Bits int64
	Text string
}

// Float returns the value of a Number.
func (v Value) Float() float64 { return math.Float64frombits(uint64(v.Bits)) }

const (
	maxCode = 128
	maxText = 256
	maxInt  = 1 << 40
)

// valueOf reads one attribute. Not finite, absurd and mistyped values, which no report could use, are not ok.
func valueOf(attrs span.Attributes, i int) (v Value, ok bool) {
	f := Facts[i]
	v.Fact = i
	switch f.Type {
	case Nanoseconds:
		d, ok := attrs.Seconds(f.Key)
		v.Bits = int64(d)
		return v, ok && (f.signed || d >= 0)
	case Count:
		n, ok := attrs.Int(f.Key)
		v.Bits = n
		return v, ok && n >= 0 && n < maxInt
	case Number:
		n, ok := attrs.Float(f.Key)
		v.Bits = int64(math.Float64bits(n))
		return v, ok && n >= 0 && n < maxInt
	case Flag:
		b, ok := attrs.Bool(f.Key)
		if b {
			v.Bits = 1
		}
		return v, ok
	case Code:
		v.Text = clean(attrs.String(f.Key), maxCode)
		return v, v.Text != ""
	default:
		v.Text = clean(attrs.String(f.Key), maxText)
		return v, v.Text != ""
	}
}

// put writes the value back as its attribute.
func (v Value) put(attrs span.Attributes) {
	f := Facts[v.Fact]
	switch f.Type {
	case Nanoseconds:
		attrs[f.Key] = float64(v.Bits) / 1e9
	case Count:
		attrs[f.Key] = v.Bits
	case Number:
		attrs[f.Key] = v.Float()
	case Flag:
		attrs[f.Key] = v.Bits == 1
	default:
		attrs[f.Key] = v.Text
	}
}

// Name returns the name of a service, an operation, a route or a peer as rows keep it, in at most 256 bytes.
func Name(s string) string { return clean(s, maxText) }

// Label returns an environment or a version as rows keep it, in at most 128 bytes.
func Label(s string) string { return clean(s, maxCode) }

// clean returns valid UTF-8 of at most limit bytes.
func clean(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}

// Sensible reports whether the value of an attribute can be kept; of keys that are no facts nothing is asked.
func Sensible(attrs span.Attributes, key string) bool {
	i, known := factByKey[key]
	if !known {
		return true
	}
	_, ok := valueOf(attrs, i)
	return ok
}

// TypeOf returns how the fact of a key is held, and whether it may be less than zero; ok is false of keys that are no facts.
func TypeOf(key string) (t Type, signed, ok bool) {
	i, ok := factByKey[key]
	if !ok {
		return 0, false, false
	}
	return Facts[i].Type, Facts[i].signed, true
}
