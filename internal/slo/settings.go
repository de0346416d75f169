package slo

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/laxity-dev/laxity/internal/yamlfile"
)

// Settings are the limits that installations differ in.
type Settings struct {
	// MinRequests is how many requests a window must hold before a share of them counts. 100.
	MinRequests float64
	// MinCancelled is the same of cancelled work. 20.
	MinCancelled float64
	// MinAnswers is how many answers an hour must hold before its 5th percentile is one. 40.
	MinAnswers float64
	// OrphanTime is how much orphan work one service may do in an hour. 60s.
	OrphanTime time.Duration
	// WorkerLag is how far verdicts and rollups may lag behind. 5m.
	WorkerLag time.Duration
	// Objectives replaces objectives of SLIs by name.
	Objectives map[string]float64
	// Routes replaces objectives of single routes.
	Routes []RouteSettings
}

// RouteSettings are the objectives of one route, by the name of the SLI, which must be one of requests.
type RouteSettings struct {
	Service, Route string
	Objectives     map[string]float64
}

// DefaultSettings returns the defaults.
func DefaultSettings() Settings {
	return Settings{MinRequests: 100, MinCancelled: 20, MinAnswers: 40, OrphanTime: time.Minute, WorkerLag: 5 * time.Minute}
}

// Indicators returns the SLIs with the objectives of the settings.
func (s Settings) Indicators() ([]SLI, error) {
	all := SLIs()
	if err := valid(s.Objectives, all); err != nil {
		return nil, err
	}
	for _, r := range s.Routes {
		if err := valid(r.Objectives, ofRoutes()); err != nil {
			return nil, fmt.Errorf("%s %s: %w", r.Service, r.Route, err)
		}
	}
	for i := range all {
		if objective, ok := s.Objectives[all[i].Name]; ok {
			all[i].Objective = objective
		}
	}
	return all, nil
}

// ofRoutes are the SLIs that routes can have objectives of their own for.
func ofRoutes() []SLI {
	return slices.DeleteFunc(SLIs(), func(i SLI) bool { return !slices.Contains(i.By, "route") })
}

func valid(objectives map[string]float64, indicators []SLI) error {
	for name, objective := range objectives {
		if !slices.ContainsFunc(indicators, func(i SLI) bool { return i.Name == name }) {
			return fmt.Errorf("objective of %q: there is no such indicator here; there are %s", name, strings.Join(names(indicators), ", "))
		}
		if !(objective > 0 && objective < 1) {
			return fmt.Errorf("objective of %s is %v; use a share above 0 and below 1", name, objective)
		}
	}
	return nil
}

func names(indicators []SLI) (all []string) {
	for _, i := range indicators {
		all = append(all, i.Name)
	}
	return all
}

// SettingsVersion is the version of the form of the file of settings.
const SettingsVersion = 1

// leastLag is below what a worker that keeps up lags: it trails by a minute and passes every ten seconds.
const leastLag = 2 * time.Minute

// ParseSettings reads a file of settings. What it does not name keeps its default. The error joins a yamlfile.Problem for each line that
// is wrong.
func ParseSettings(name string, data []byte) (Settings, error) {
	s := DefaultSettings()
	r := &settingsReader{yamlfile.NewReader(name)}
	documents := r.Documents(data)
	if len(documents) != 1 {
		if r.Err() == nil {
			r.Fail(0, "want one document that begins with version: %d; docs/alerts-settings.md shows one", SettingsVersion)
		}
		return s, r.Err()
	}
	root := documents[0]
	var version uint64
	seen := r.Fields(root, "the settings of alerts", map[string]func(*yaml.Node){
		"version":       r.Number(&version),
		"objectives":    func(n *yaml.Node) { s.Objectives = r.objectives(n, SLIs()) },
		"min_requests":  r.count(&s.MinRequests),
		"min_cancelled": r.count(&s.MinCancelled),
		"min_answers":   r.count(&s.MinAnswers),
		"orphan_time":   r.atLeast(&s.OrphanTime, time.Second),
		"worker_lag":    r.atLeast(&s.WorkerLag, leastLag),
		"routes":        func(n *yaml.Node) { s.Routes = r.routes(n) },
	})
	switch {
	case !seen["version"] && root.Kind == yaml.MappingNode:
		r.Fail(root.Line, "version is missing; begin with version: %d", SettingsVersion)
	case seen["version"] && version != SettingsVersion:
		r.Fail(root.Line, "version %d is not known; this program reads version %d", version, SettingsVersion)
	}
	return s, r.Err()
}

type settingsReader struct{ *yamlfile.Reader }

func (r *settingsReader) objectives(node *yaml.Node, indicators []SLI) map[string]float64 {
	objectives := map[string]float64{}
	read := map[string]func(*yaml.Node){}
	for _, i := range indicators {
		read[i.Name] = func(n *yaml.Node) {
			var share *float64
			if r.Ratio(&share)(n); share == nil {
				return
			}
			if objectives[i.Name] = *share; *share == 0 || *share == 1 {
				r.Fail(n.Line, "%s is no objective: it is a share above 0 and below 1, such as 99.5%%", n.Value)
			}
		}
	}
	if r.Fields(node, "objectives", read); node.Kind == yaml.MappingNode && len(node.Content) == 0 {
		r.Fail(node.Line, "objectives names none; leave it out, or name one of %s", strings.Join(names(indicators), ", "))
	}
	return objectives
}

func (r *settingsReader) count(to *float64) func(*yaml.Node) {
	return func(n *yaml.Node) {
		var value uint64
		if r.Number(&value)(n); n.Value == "0" {
			r.Fail(n.Line, "use a whole number above zero")
		}
		*to = float64(value)
	}
}

func (r *settingsReader) atLeast(to *time.Duration, least time.Duration) func(*yaml.Node) {
	return func(n *yaml.Node) {
		var value *time.Duration
		r.Length(&value)(n)
		if _, err := time.ParseDuration(n.Value); err == nil && *value >= 0 && *value < least {
			r.Fail(n.Line, "%s is too short; the least is %s", n.Value, length(least))
		}
		*to = *value
	}
}

func (r *settingsReader) routes(node *yaml.Node) []RouteSettings {
	if node.Kind != yaml.SequenceNode {
		r.Fail(node.Line, "routes is a list: each begins with - service: NAME")
		return nil
	}
	all := make([]RouteSettings, len(node.Content))
	for i, n := range node.Content {
		one := &all[i]
		seen := r.Fields(n, "a route", map[string]func(*yaml.Node){
			"service": r.Text(&one.Service), "route": r.Text(&one.Route),
			"objectives": func(n *yaml.Node) { one.Objectives = r.objectives(n, ofRoutes()) },
		})
		for _, name := range []string{"service", "route", "objectives"} {
			if !seen[name] {
				r.Fail(n.Line, "%s is missing", name)
			}
		}
		if slices.ContainsFunc(all[:i], func(o RouteSettings) bool { return o.Service == one.Service && o.Route == one.Route }) {
			r.Fail(n.Line, "%s %s is given twice", one.Service, one.Route)
		}
	}
	return all
}
