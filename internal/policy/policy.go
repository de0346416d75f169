// Package policy is the file that budget.LoadLimits reads: what the calls of each dependency may take, from what they took.
package policy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/laxity-dev/laxity/sdk/budget"
)

// File holds terms by dependency. Missing terms do not bound; budgets of routes are advice to people, which the sdk does not read.
type File struct {
	Version      int          `json:"version"`
	Rate         float64      `json:"accepted_false_timeout_rate"`
	Window       Window       `json:"measured"`
	Dependencies []Dependency `json:"dependencies"`
	Routes       []Route      `json:"routes,omitempty"`
}

// Window is when was measured, RFC 3339.
type Window struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Dependency is the terms of the calls of one service, by stage and peer, and why each is what it is.
type Dependency struct {
	Service string `json:"service"`
	Stage   string `json:"stage"`
	Peer    string `json:"peer,omitempty"`
	Terms
	Why map[string]string `json:"why,omitempty"`
}

// Terms are seconds; nil does not bound.
type Terms struct {
	Cap       *float64 `json:"cap_s,omitempty"`
	Observed  *float64 `json:"observed_limit_s,omitempty"`
	Reserve   *float64 `json:"reserve_s,omitempty"`
	MinUseful *float64 `json:"min_useful_s,omitempty"`
}

// Route is the budget that all but the accepted share of its requests would have been answered in; nil where it cannot be told.
type Route struct {
	Service string   `json:"service"`
	Route   string   `json:"route"`
	Safe    *float64 `json:"safe_budget_s"`
	Why     string   `json:"why"`
}

// New returns a file without terms.
func New(w Window, rate float64) File {
	return File{Version: budget.PolicyFileVersion, Rate: rate, Window: w, Dependencies: []Dependency{}}
}

// Encode writes the file, its dependencies in order. What is written is what the sdk reads, or nothing is.
func (f File) Encode() ([]byte, error) {
	f.Dependencies = slices.SortedFunc(slices.Values(f.Dependencies), func(a, b Dependency) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Peer, b.Peer))
	})
	if f.Dependencies == nil {
		f.Dependencies = []Dependency{}
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(f); err != nil {
		return nil, err
	}
	for i, d := range f.Dependencies {
		if i > 0 && d.Service == f.Dependencies[i-1].Service {
			continue
		}
		if _, err := budget.ReadLimits(bytes.NewReader(b.Bytes()), d.Service); err != nil {
			return nil, fmt.Errorf("terms of %s: %w", d.Service, err)
		}
	}
	return b.Bytes(), nil
}
