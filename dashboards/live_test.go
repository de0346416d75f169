package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// wait asks until there is no error.
func wait(t *testing.T, limit time.Duration, ask func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for {
		err := ask()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// fault is what an alert must say of a fault that is played.
type fault struct {
	alert string
	want  map[string]string // labels, "" for any value
	// unscaled is what the alert takes that the speed of the test does not divide.
	unscaled time.Duration
	// lasting faults are over for an alert only when hours of the test are: three minutes.
	lasting bool
}

var (
	// played are faults of the sample services, in about the order in which they are told of.
	played = []fault{
		{alert: "Overload", want: map[string]string{"service": "edge", "stage": "", "cause": "", "severity": "page"}},
		{alert: "OrphanWork", want: map[string]string{"service": "rerank", "cause": "", "severity": "page"}},
		{alert: "SilentStreams", want: map[string]string{"service": "edge", "stage": "chat", "phase": "between_tokens"}},
		{alert: "BudgetMissedFast", want: map[string]string{"service": "edge", "route": "/v1/answer", "stage": "", "cause": "", "severity": "page"}},
		{alert: "BudgetMissedSlow", want: map[string]string{"service": "edge", "route": "/v1/answer", "stage": "", "cause": "", "severity": "ticket"}, lasting: true},
		{alert: "AnswersDegraded", want: map[string]string{"service": "edge", "route": "/v1/answer", "sli": "in_time_undegraded"}, lasting: true},
		{alert: "CancelledWorkStopsLate", want: map[string]string{"service": "rerank", "cause": "", "sli": "stopped_in_time"}, lasting: true},
		{alert: "WorkAfterCancel", want: map[string]string{"service": "rerank", "cause": "", "sli": "no_work_after_cancel"}, lasting: true},
	}
	// The worker judges a trace a minute after it arrived, however fast the rest of the test is; and in between it and storage are away.
	judged = fault{alert: "RenewedClock", want: map[string]string{"service": "rerank", "rule": "renewed_clock"}, unscaled: 2 * time.Minute}

	stopped = fault{alert: "MetricsMissing", want: map[string]string{"job": "laxity-worker", "severity": "page"}}
	halted  = []fault{
		{alert: "IngestionLoss", want: map[string]string{"reason": "queue_full", "severity": "page"}, unscaled: 40 * time.Second}, // the queue must fill
		{alert: "WorkerLag", want: map[string]string{"severity": "ticket"}, unscaled: workerLag},
	}
	// Half of a week must be on record: two seconds in which a busy machine answers too little are an hour that is not.
	eroded = fault{alert: "MarginErosion", want: map[string]string{"service": "edge", "route": "/v1/report"}, unscaled: 2 * time.Minute}
)

// quiet is false on a machine that is too slow for the sample services or for half a second's scrapes: there promises of time mean nothing.
var quiet = true

// tell waits until an alert is told of.
func (i *installation) tell(t *testing.T, f fault, since time.Time, scale float64) {
	t.Helper()
	wait(t, 6*time.Minute, func() error {
		all := i.seen(f.alert, "firing", since)
		if len(all) == 0 && i.firing(t, `ALERTS{alertstate="firing",alertname="`+f.alert+`"}`) > 0 {
			all = i.seen(f.alert, "firing", i.began) // a slow machine gave reason before, and Alertmanager does not repeat itself
		}
		for _, a := range all {
			if !matches(a.Labels, f.want) || a.Annotations["summary"] == "" {
				continue
			}
			took, promised := a.at.Sub(since), time.Duration(float64(i.alerts[f.alert].Within)/scale)+f.unscaled
			t.Logf("%s after %s, promised %s: %v: %s", f.alert, took.Round(time.Second/10), promised.Round(time.Second/10), a.Labels, a.Annotations["summary"])
			// Two scrapes, two evaluations and the way to here are not divided.
			if quiet && os.Getenv("LAXITY_SOAK") != "" && took > promised+5*time.Second {
				t.Errorf("%s took %s; %s was promised", f.alert, took, promised)
			}
			return nil
		}
		return fmt.Errorf("%s with %v was not told, but %v", f.alert, f.want, all)
	})
}

// takeBack waits until nothing of an alert fires and the end was told.
func (i *installation) takeBack(t *testing.T, f fault, over time.Time) {
	t.Helper()
	wait(t, 6*time.Minute, func() error {
		if still := i.firing(t, `ALERTS{alertstate="firing",alertname="`+f.alert+`"}`); still > 0 {
			return fmt.Errorf("%s still fires", f.alert)
		}
		ends := i.seen(f.alert, "resolved", i.began)
		if len(ends) == 0 {
			return fmt.Errorf("%s was not taken back", f.alert)
		}
		t.Logf("%s resolved %s after its fault was over", f.alert, max(0, ends[len(ends)-1].at.Sub(over)).Round(time.Second/10))
		return nil
	})
}

// Prometheus and Alertmanager tell of each fault: which service, stage and cause; they are silent while there are none, and take back
// what is over. Meanwhile every query of every dashboard is asked. What takes more than two minutes more is left to make soak.
func TestLive(t *testing.T) {
	soak := os.Getenv("LAXITY_SOAK") != ""
	i := install(t)
	// Prometheus looks for targets some seconds after it has begun to evaluate rules: many minutes at this speed.
	wait(t, time.Minute, func() error {
		if up, alerts := i.firing(t, "up == 1"), i.firing(t, "ALERTS"); up < 2 || alerts > 0 {
			return fmt.Errorf("%d pages are scraped, %d alerts", up, alerts)
		}
		return nil
	})
	i.clean(t, length(40, 120)) // over an hour of the test
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var loading sync.WaitGroup
	began := time.Now()
	loading.Go(func() {
		i.load(ctx, t, "--rate", "24", "--duration", "10m", "--fault", "slow_dependency=0.3", "--fault", "ignored_cancel=0.35",
			"--fault", "freeze=0.3", "--fault", "renewed_clock=0.3")
	})
	for _, f := range played {
		i.tell(t, f, began, speed)
	}
	// The worker ends, and comes back.
	i.worker.stop()
	at := time.Now()
	i.tell(t, stopped, at, speed)
	at = time.Now()
	i.worker = i.startWorker()
	i.takeBack(t, stopped, at)

	// Storage is away: the worker falls behind and the queue runs over.
	at = time.Now()
	if err := i.engine.process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for _, f := range halted {
		i.tell(t, f, at, speed)
	}
	if err := i.engine.process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	i.tell(t, judged, began, speed)
	i.askAll(t)
	over := time.Now()
	stop()
	loading.Wait()
	if soak {
		i.erode(t)
	}
	for _, f := range slices.Concat(played, halted, []fault{judged}) {
		// How soon a worker catches up on a slow machine is nothing to promise.
		if (soak || !f.lasting) && (quiet || f.alert != "WorkerLag") {
			i.takeBack(t, f, over)
		}
	}
}

// clean plays the sample services without a fault; nothing is told.
func (i *installation) clean(t *testing.T, long string) {
	t.Helper()
	ready := time.Now()
	i.load(t.Context(), t, "--no-faults", "--rate", "8", "--duration", long)
	// A slow machine really misses, leaves steps out, stops late, falls behind and answers no scrape; it is right to tell of that.
	bad := i.sql(t, `SELECT countIf(answered AND ifNull(late, false) OR exhausted OR outcome IN ('degraded', 'partial') OR ifNull(post_cancel_time_ns, 0) > 1000000)
		FROM hops FINAL`)
	unread := i.firing(t, "min_over_time(up[5m]) == 0")
	lagged := i.firing(t, fmt.Sprintf("max_over_time(laxity_worker_lag_seconds{step!=\"tallies\"}[5m]) >= %g", workerLag.Seconds()))
	quiet = bad == "0" && unread == 0 && lagged == 0
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, a := range i.told {
		if a.Status == "firing" && a.Starts.After(ready) && quiet {
			t.Errorf("told without a fault: %v", a)
		}
	}
	t.Logf("clean traffic for %s: %s missed, degraded or stopped late, %d pages could not be read and %d steps lagged at times", time.Since(ready).Round(time.Second), bad, unread, lagged)
}

// erode lets reports take longer from minute to minute, in time all the while.
func (i *installation) erode(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var loading sync.WaitGroup
	began := time.Now()
	loading.Go(func() {
		i.load(ctx, t, "--route", "/v1/report", "--report-grows", "100ms", "--no-faults", "--rate", "20", "--duration", "8m", "--concurrency", "200")
	})
	i.tell(t, eroded, began, erosion)
	over := time.Now()
	stop()
	loading.Wait()
	i.takeBack(t, eroded, over)
}

// length is how long clean traffic lasts, in seconds, in check and in soak.
func length(check, long int) string {
	if os.Getenv("LAXITY_SOAK") != "" {
		check = long
	}
	return fmt.Sprintf("%ds", check)
}

func matches(labels, want map[string]string) bool {
	for name, value := range want {
		if labels[name] == "" || value != "" && labels[name] != value {
			return false
		}
	}
	return true
}
