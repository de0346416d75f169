package worker

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/storage"
)

// findings counts what was found, each finding once however often its trace is judged.
type findings struct {
	mu     sync.Mutex
	series map[findingLabels]int64
}

type findingLabels struct{ service, route, stage, peer, rule string }

// add counts the findings that hold and were not known before.
func (f *findings) add(hold, kept []storage.Verdict) {
	known := make(map[storage.VerdictKey]bool, len(kept))
	for i := range kept {
		known[kept[i].VerdictKey] = true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range hold {
		v := &hold[i]
		if known[v.VerdictKey] {
			continue
		}
		labels := findingLabels{v.Service, v.Route, v.Stage, v.Peer, v.Rule}
		if f.series == nil {
			f.series = map[findingLabels]int64{}
		}
		if _, ok := f.series[labels]; !ok && len(f.series) >= maxSeries {
			labels = findingLabels{"other", "other", "other", "other", v.Rule}
		}
		f.series[labels]++
	}
}

// write writes the counts in Prometheus' text format.
func (f *findings) write(out io.Writer) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := ""
	for _, m := range budgetattr.Metrics() {
		if m.Name == budgetattr.MetricFindings {
			name = m.PrometheusName()
		}
	}
	var lines []string
	for l, n := range f.series {
		lines = append(lines, fmt.Sprintf("%s{service=%s,route=%s,stage=%s,peer=%s,rule=%s} %d\n",
			name, label(l.service), label(l.route), label(l.stage), label(l.peer), label(l.rule), n))
	}
	slices.Sort(lines)
	_, err := fmt.Fprintf(out, "# HELP %s Findings in traces by rule.\n# TYPE %s counter\n%s", name, name, strings.Join(lines, ""))
	return err
}
