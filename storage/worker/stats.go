package worker

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/laxity-dev/laxity/storage"
)

// stats is what the worker tells about itself.
type stats struct {
	passes, failures, traces, findings, taken, minutes, stretches, buckets atomic.Int64
	// verdicts, rollups and tallies are watermarks, nanoseconds since 1970, 0 before the first.
	verdicts, rollups, tallies atomic.Int64
	orphans                    orphans
	found                      findings
}

func (s *stats) watermark(progress map[storage.Step]time.Time, shard storage.Shard) {
	for step, to := range map[storage.Step]*atomic.Int64{shard.Step(): &s.verdicts, storage.StepMinutes: &s.rollups, storage.StepStretches: &s.tallies} {
		if at, ok := progress[step]; ok {
			to.Store(at.UnixNano())
		}
	}
}

// WriteMetrics writes the worker's metrics in Prometheus' text format.
func (w *Worker) WriteMetrics(out io.Writer) error {
	s := &w.stats
	lag := func(at int64) float64 {
		if at == 0 { // no pass has come to its end, so it lags for as long as it runs
			at = w.began.UnixNano()
		}
		return time.Since(time.Unix(0, at)).Seconds()
	}
	_, err := fmt.Fprintf(out, `# HELP laxity_worker_lag_seconds Age of the watermark: what was ingested before it is judged. The least is the trail.
# TYPE laxity_worker_lag_seconds gauge
laxity_worker_lag_seconds{step="verdicts"} %g
laxity_worker_lag_seconds{step="rollups"} %g
laxity_worker_lag_seconds{step="tallies"} %g
# HELP laxity_worker_passes_total Passes that came to their end.
# TYPE laxity_worker_passes_total counter
laxity_worker_passes_total %d
# HELP laxity_worker_failures_total Passes that failed and were tried again.
# TYPE laxity_worker_failures_total counter
laxity_worker_failures_total %d
# HELP laxity_worker_traces_total Traces judged; a trace counts each time that something of it arrived.
# TYPE laxity_worker_traces_total counter
laxity_worker_traces_total %d
# HELP laxity_worker_findings_total Findings written, and taken back because they no longer hold.
# TYPE laxity_worker_findings_total counter
laxity_worker_findings_total{change="written"} %d
laxity_worker_findings_total{change="taken_back"} %d
# HELP laxity_worker_buckets_total Buckets of the rollups computed anew.
# TYPE laxity_worker_buckets_total counter
laxity_worker_buckets_total{length="minute"} %d
laxity_worker_buckets_total{length="stretch"} %d
laxity_worker_buckets_total{length="longer"} %d
# HELP laxity_worker_attached_spans_total Spans read from the attached table; a span counts each time it is read.
# TYPE laxity_worker_attached_spans_total counter
laxity_worker_attached_spans_total %d
# HELP laxity_worker_attached_refused_total Spans of the attached table that cannot be kept: impossible times, an identifier of zeros.
# TYPE laxity_worker_attached_refused_total counter
laxity_worker_attached_refused_total %d
# HELP laxity_worker_attached_due Stretches of 10 s of the attached table that are still to be read, as far as counted.
# TYPE laxity_worker_attached_due gauge
laxity_worker_attached_due %d
`, lag(s.verdicts.Load()), lag(s.rollups.Load()), lag(s.tallies.Load()), s.passes.Load(), s.failures.Load(), s.traces.Load(), s.findings.Load(), s.taken.Load(),
		s.minutes.Load(), s.stretches.Load(), s.buckets.Load(), w.pulls.spans.Load(), w.pulls.quarantined.Load(), w.pulls.due.Load())
	if err != nil {
		return err
	}
	if err := s.orphans.write(out); err != nil {
		return err
	}
	return s.found.write(out)
}
