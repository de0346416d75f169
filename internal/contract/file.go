package contract

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// FileVersion is the version of the form of the file.
const FileVersion = 1

// DefaultMinRequests is how many requests prove something where the file does not say it.
const DefaultMinRequests = 100

// Problem is one thing wrong with a file.
type Problem struct {
	File string
	Line int
	Text string
}

func (p *Problem) Error() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Text)
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// reader collects everything that is wrong with one file.
type reader struct {
	file string
	errs []error
}

func (r *reader) fail(line int, format string, args ...any) {
	r.errs = append(r.errs, &Problem{r.file, line, fmt.Sprintf(format, args...)})
}

// Parse reads a file. The error joins a Problem for each line that is wrong. A file may hold several contracts, divided by ---.
func Parse(name string, data []byte) ([]Contract, error) {
	r := &reader{file: name}
	var all []Contract
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			r.fail(0, "%s", strings.TrimPrefix(err.Error(), "yaml: "))
			return nil, errors.Join(r.errs...)
		}
		all = append(all, r.contract(document.Content[0]))
	}
	if len(all) == 0 {
		r.fail(0, "the file is empty; laxity contract init writes one from what was measured")
	}
	return all, errors.Join(r.errs...)
}

// fields reads the keys of a mapping, each by its own function.
func (r *reader) fields(node *yaml.Node, what string, read map[string]func(*yaml.Node)) map[string]bool {
	seen := map[string]bool{}
	if node.Kind != yaml.MappingNode {
		r.fail(node.Line, "%s is not a list of keys and values", what)
		return seen
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		known, ok := read[key.Value]
		switch {
		case !ok:
			names := make([]string, 0, len(read))
			for name := range read {
				names = append(names, name)
			}
			slices.Sort(names)
			r.fail(key.Line, "there is no key %q in %s; keys: %s", key.Value, what, strings.Join(names, ", "))
		case seen[key.Value]:
			r.fail(key.Line, "%s is given twice", key.Value)
		default:
			seen[key.Value] = true
			known(value)
		}
	}
	return seen
}

func (r *reader) contract(node *yaml.Node) Contract {
	c := Contract{MinRequests: DefaultMinRequests}
	var version, least uint64
	seen := r.fields(node, "a contract", map[string]func(*yaml.Node){
		"version": r.number(&version),
		"service": r.text(&c.Service),
		"route":   r.text(&c.Route),
		"min_requests": func(n *yaml.Node) {
			if r.number(&least)(n); least == 0 {
				r.fail(n.Line, "min_requests is a whole number above zero")
			}
			c.MinRequests = least
		},
		"budget":             r.length(&c.Budget),
		"min_budget":         r.length(&c.MinBudget),
		"margin":             func(n *yaml.Node) { c.Margins = r.margins(n) },
		"missed_ratio":       r.ratio(&c.MissedRatio),
		"degraded_ratio":     r.ratio(&c.DegradedRatio),
		"orphan_per_request": r.length(&c.OrphanTime),
		"max_retries":        r.optional(&c.Retries),
		"stages":             func(n *yaml.Node) { c.Stages = r.stages(n) },
	})
	for _, name := range []string{"version", "service", "route"} {
		if !seen[name] {
			r.fail(node.Line, "%s is missing", name)
		}
	}
	if seen["version"] && version != FileVersion {
		r.fail(node.Line, "version %d is not known; this program reads version %d", version, FileVersion)
	}
	if c.Budget != nil && c.MinBudget != nil && *c.MinBudget > *c.Budget {
		r.fail(node.Line, "min_budget is more than budget")
	}
	if len(seen) == 3 && seen["version"] && seen["service"] && seen["route"] {
		r.fail(node.Line, "nothing is promised; add missed_ratio, margin, budget or stages")
	}
	return c
}

func (r *reader) margins(node *yaml.Node) []MarginTerm {
	terms := map[string]*time.Duration{}
	read := map[string]func(*yaml.Node){}
	for _, p := range Percentiles {
		read[p] = func(n *yaml.Node) {
			d, err := time.ParseDuration(n.Value)
			if err != nil {
				r.fail(n.Line, "%q is no length; lengths look like 80ms, 1.5s", n.Value)
			}
			terms[p] = &d
		}
	}
	r.fields(node, "margin", read)
	var all []MarginTerm
	for _, p := range Percentiles {
		if terms[p] != nil {
			all = append(all, MarginTerm{p, *terms[p]})
		}
	}
	return all
}

func (r *reader) stages(node *yaml.Node) []Stage {
	if node.Kind != yaml.SequenceNode {
		r.fail(node.Line, "stages is a list: each begins with - stage: NAME")
		return nil
	}
	all := make([]Stage, len(node.Content))
	for i, n := range node.Content {
		s := &all[i]
		seen := r.fields(n, "a stage", map[string]func(*yaml.Node){
			"stage":          r.text(&s.Stage),
			"peer":           r.text(&s.Peer),
			"spend_p95":      r.length(&s.SpendP95),
			"reserve":        r.length(&s.Reserve),
			"min_useful":     r.length(&s.MinUseful),
			"degraded_ratio": r.ratio(&s.DegradedRatio),
			"max_retries":    r.optional(&s.Retries),
		})
		if !seen["stage"] {
			r.fail(n.Line, "stage is missing")
		}
		for _, other := range all[:i] {
			if other.Stage == s.Stage && other.Peer == s.Peer {
				r.fail(n.Line, "stage %s is given twice", strings.TrimSpace(s.Stage+" "+s.Peer))
			}
		}
	}
	return all
}

func (r *reader) text(to *string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n.Kind != yaml.ScalarNode || n.Value == "" {
			r.fail(n.Line, "a text is missing here")
		}
		*to = n.Value
	}
}

func (r *reader) number(to *uint64) func(*yaml.Node) {
	return func(n *yaml.Node) {
		value, err := strconv.ParseUint(n.Value, 10, 32)
		if err != nil {
			r.fail(n.Line, "%q is no whole number", n.Value)
		}
		*to = value
	}
}

func (r *reader) optional(to **uint64) func(*yaml.Node) {
	return func(n *yaml.Node) {
		*to = new(uint64)
		r.number(*to)(n)
	}
}

func (r *reader) length(to **time.Duration) func(*yaml.Node) {
	return func(n *yaml.Node) {
		d, err := time.ParseDuration(n.Value)
		switch {
		case err != nil:
			r.fail(n.Line, "%q is no length; lengths look like 80ms, 1.5s", n.Value)
		case d < 0:
			r.fail(n.Line, "%s is negative", n.Value)
		}
		*to = &d
	}
}

// ratio reads a share as a number or as a percentage.
func (r *reader) ratio(to **float64) func(*yaml.Node) {
	return func(n *yaml.Node) {
		text, percent := strings.CutSuffix(n.Value, "%")
		value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if percent {
			value /= 100
		}
		if err != nil || !(value >= 0 && value <= 1) {
			r.fail(n.Line, "%q is no share; shares look like 0.01 or 1%%", n.Value)
		}
		*to = &value
	}
}

// Write writes a contract as a file that Parse reads.
func (c Contract) Write() string {
	var b strings.Builder
	line := func(indent, key, value, about string) {
		text := indent + key + ": " + value
		if about != "" {
			text = fmt.Sprintf("%-32s # %s", text, about)
		}
		b.WriteString(text + "\n")
	}
	length := func(indent, key string, d *time.Duration, about string) {
		if d != nil {
			line(indent, key, d.String(), about)
		}
	}
	share := func(indent, key string, f *float64, about string) {
		if f != nil {
			line(indent, key, strconv.FormatFloat(*f, 'f', -1, 64), about)
		}
	}
	count := func(indent, key string, n *uint64, about string) {
		if n != nil {
			line(indent, key, strconv.FormatUint(*n, 10), about)
		}
	}
	line("", "version", strconv.Itoa(FileVersion), "")
	line("", "service", strconv.Quote(c.Service), "")
	line("", "route", strconv.Quote(c.Route), "")
	line("", "min_requests", strconv.FormatUint(c.MinRequests, 10), "fewer prove nothing")
	length("", "budget", c.Budget, "the most that a request is granted")
	length("", "min_budget", c.MinBudget, "the least that all but 5 % are granted")
	if len(c.Margins) > 0 {
		b.WriteString("margin:\n")
		for _, term := range c.Margins {
			length("  ", term.Percentile, &term.Least, "what answers have left, at least")
		}
	}
	share("", "missed_ratio", c.MissedRatio, "late or out of time, at most")
	share("", "degraded_ratio", c.DegradedRatio, "degraded or partial, at most")
	length("", "orphan_per_request", c.OrphanTime, "work for nobody, mean, at most")
	count("", "max_retries", c.Retries, "of any one call")
	if len(c.Stages) > 0 {
		b.WriteString("stages:\n")
	}
	for _, s := range c.Stages {
		line("  - ", "stage", strconv.Quote(s.Stage), "")
		if s.Peer != "" {
			line("    ", "peer", strconv.Quote(s.Peer), "")
		}
		length("    ", "spend_p95", s.SpendP95, "")
		length("    ", "reserve", s.Reserve, "")
		length("    ", "min_useful", s.MinUseful, "")
		share("    ", "degraded_ratio", s.DegradedRatio, "")
		count("    ", "max_retries", s.Retries, "")
	}
	return b.String()
}
