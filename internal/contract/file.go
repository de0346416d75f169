package contract

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/laxity-dev/laxity/internal/yamlfile"
)

// FileVersion is the version of the form of the file.
const FileVersion = 1

// DefaultMinRequests is how many requests prove something where the file does not say it.
const DefaultMinRequests = 100

// Parse reads a file. The error joins a yamlfile.Problem for each line that is wrong. A file may hold several contracts, divided by ---.
func Parse(name string, data []byte) ([]Contract, error) {
	r := &reader{yamlfile.NewReader(name)}
	var all []Contract
	for _, document := range r.Documents(data) {
		all = append(all, r.contract(document))
	}
	if len(all) == 0 && r.Err() == nil {
		r.Fail(0, "the file is empty; laxity contract init writes one from what was measured")
	}
	return all, r.Err()
}

type reader struct{ *yamlfile.Reader }

func (r *reader) contract(node *yaml.Node) Contract {
	c := Contract{MinRequests: DefaultMinRequests}
	var version, least uint64
	seen := r.Fields(node, "a contract", map[string]func(*yaml.Node){
		"version": r.Number(&version),
		"service": r.Text(&c.Service),
		"route":   r.Text(&c.Route),
		"min_requests": func(n *yaml.Node) {
			if r.Number(&least)(n); least == 0 {
				r.Fail(n.Line, "min_requests is a whole number above zero")
			}
			c.MinRequests = least
		},
		"budget":             r.Length(&c.Budget),
		"min_budget":         r.Length(&c.MinBudget),
		"margin":             func(n *yaml.Node) { c.Margins = r.margins(n) },
		"missed_ratio":       r.Ratio(&c.MissedRatio),
		"degraded_ratio":     r.Ratio(&c.DegradedRatio),
		"orphan_per_request": r.Length(&c.OrphanTime),
		"max_retries":        r.Optional(&c.Retries),
		"stages":             func(n *yaml.Node) { c.Stages = r.stages(n) },
	})
	for _, name := range []string{"version", "service", "route"} {
		if !seen[name] && node.Kind == yaml.MappingNode {
			r.Fail(node.Line, "%s is missing", name)
		}
	}
	if seen["version"] && version != FileVersion {
		r.Fail(node.Line, "version %d is not known; this program reads version %d", version, FileVersion)
	}
	if c.Budget != nil && c.MinBudget != nil && *c.MinBudget > *c.Budget {
		r.Fail(node.Line, "min_budget is more than budget")
	}
	if len(seen) == 3 && seen["version"] && seen["service"] && seen["route"] {
		r.Fail(node.Line, "nothing is promised; add missed_ratio, margin, budget or stages")
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
				r.Fail(n.Line, "%q is no length; lengths look like 80ms, 1.5s", n.Value)
			}
			terms[p] = &d
		}
	}
	r.Fields(node, "margin", read)
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
		r.Fail(node.Line, "stages is a list: each begins with - stage: NAME")
		return nil
	}
	all := make([]Stage, len(node.Content))
	for i, n := range node.Content {
		s := &all[i]
		seen := r.Fields(n, "a stage", map[string]func(*yaml.Node){
			"stage":          r.Text(&s.Stage),
			"peer":           r.Text(&s.Peer),
			"spend_p95":      r.Length(&s.SpendP95),
			"reserve":        r.Length(&s.Reserve),
			"min_useful":     r.Length(&s.MinUseful),
			"degraded_ratio": r.Ratio(&s.DegradedRatio),
			"max_retries":    r.Optional(&s.Retries),
		})
		if !seen["stage"] {
			r.Fail(n.Line, "stage is missing")
		}
		for _, other := range all[:i] {
			if other.Stage == s.Stage && other.Peer == s.Peer {
				r.Fail(n.Line, "stage %s is given twice", strings.TrimSpace(s.Stage+" "+s.Peer))
			}
		}
	}
	return all
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
