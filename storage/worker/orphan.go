package worker

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/storage"
)

// maxSeries bounds the label values of orphan work; what is beyond it counts as "other".
const maxSeries = 2000

// orphans sums orphan work that was found. Its sums never fall: what is taken back later is summed apart.
type orphans struct {
	mu     sync.Mutex
	series map[orphanLabels]*orphanSum
}

type orphanLabels struct{ service, route, stage, peer, cause string }

type orphanSum struct{ found, takenBack, spans int64 } // nanoseconds, and spans found

// add counts what a batch changed: findings written now, findings taken back, and what was known of them before.
func (o *orphans) add(hold, taken, kept []storage.Verdict) {
	before := map[storage.VerdictKey]int64{}
	for i := range kept {
		if kept[i].Rule == string(verdict.RuleOrphanWork) {
			before[kept[i].VerdictKey] = kept[i].Amount
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range hold {
		v := &hold[i]
		if v.Rule != string(verdict.RuleOrphanWork) {
			continue
		}
		known, again := before[v.VerdictKey]
		sum := o.sum(v)
		sum.found += max(0, v.Amount-known)
		sum.takenBack += max(0, known-v.Amount)
		if !again {
			sum.spans++
		}
		delete(before, v.VerdictKey) // what moved to another month is also among the taken
	}
	for i := range taken {
		v := &taken[i]
		if _, gone := before[v.VerdictKey]; gone {
			o.sum(v).takenBack += v.Amount
		}
	}
}

func (o *orphans) sum(v *storage.Verdict) *orphanSum {
	labels := orphanLabels{v.Service, v.Route, v.Stage, v.Peer, v.Cause}
	if o.series == nil {
		o.series = map[orphanLabels]*orphanSum{}
	}
	if o.series[labels] == nil && len(o.series) >= maxSeries {
		labels = orphanLabels{"other", "other", "other", "other", "other"}
	}
	if o.series[labels] == nil {
		o.series[labels] = &orphanSum{}
	}
	return o.series[labels]
}

// write writes the sums in Prometheus' text format.
func (o *orphans) write(out io.Writer) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var found, back, spans []string
	for l, s := range o.series {
		labels := fmt.Sprintf("{service=%s,route=%s,stage=%s,peer=%s,cause=%s}", label(l.service), label(l.route), label(l.stage), label(l.peer), label(l.cause))
		found = append(found, fmt.Sprintf("deadline_orphan_time_seconds_total%s %g\n", labels, float64(s.found)/1e9))
		back = append(back, fmt.Sprintf("deadline_orphan_time_taken_back_seconds_total%s %g\n", labels, float64(s.takenBack)/1e9))
		spans = append(spans, fmt.Sprintf("deadline_orphan_spans_total%s %d\n", labels, s.spans))
	}
	for _, m := range []struct {
		head  string
		lines []string
	}{
		{"# HELP deadline_orphan_time_seconds_total Work done after the caller's wait had ended, by the service that did it; from storage.\n# TYPE deadline_orphan_time_seconds_total counter\n", found},
		{"# HELP deadline_orphan_time_taken_back_seconds_total Orphan work counted before, that later spans of its trace disproved.\n# TYPE deadline_orphan_time_taken_back_seconds_total counter\n", back},
		{"# HELP deadline_orphan_spans_total Spans with orphan work.\n# TYPE deadline_orphan_spans_total counter\n", spans},
	} {
		slices.Sort(m.lines)
		if _, err := io.WriteString(out, m.head+strings.Join(m.lines, "")); err != nil {
			return err
		}
	}
	return nil
}

// label quotes a value as the text format wants it.
func label(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value) + `"`
}
