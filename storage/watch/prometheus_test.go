package watch_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/alert"
	"github.com/laxity-dev/laxity/internal/promrule"
	"github.com/laxity-dev/laxity/internal/slo"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
	"github.com/laxity-dev/laxity/storage/watch"
)

// prometheus is one that serves a directory of blocks.
type prometheus struct{ address string }

// serve runs Prometheus over a directory until it is stopped. A series counts as gone when it has no sample for the time of lookback.
func serve(t *testing.T, data, lookback string) (p prometheus, stop func()) {
	t.Helper()
	config := filepath.Join(t.TempDir(), "prometheus.yaml")
	if err := os.WriteFile(config, []byte("global: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, "prometheus", "--config.file", config, "--storage.tsdb.path", data, "--storage.tsdb.retention.time", "100y",
		"--query.lookback-delta", lookback, "--web.listen-address", "127.0.0.1:0")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	output, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v; run make prometheus", err)
	}
	said := make(chan string, 1)
	ended := make(chan struct{})
	listening, text := regexp.MustCompile(`msg="Listening on" address=(\S+)`), strings.Builder{}
	go func() {
		defer close(ended)
		address, ready := "", false
		for scan := bufio.NewScanner(output); scan.Scan(); {
			text.WriteString(scan.Text() + "\n")
			if m := listening.FindStringSubmatch(scan.Text()); m != nil {
				address = m[1]
			}
			ready = ready || strings.Contains(scan.Text(), "Server is ready") // in either order
			if ready && address != "" && len(said) == 0 {
				said <- address
			}
		}
		_ = cmd.Wait()
	}()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	select {
	case p.address = <-said:
	case <-ended:
		t.Fatalf("prometheus ended:\n%s", text.String())
	case <-time.After(2 * time.Minute):
		t.Fatal("prometheus is not ready after two minutes")
	}
	return p, stop
}

// series are values by labels and minute of the day.
type series map[alert.Labels]map[int]float64

// result is one series of an answer, by time in seconds.
type result struct {
	Metric map[string]string
	Values [][2]any
}

// query evaluates an expression in each of some minutes that have the same distance.
func (p prometheus) query(t *testing.T, expr string, first, last, step int) []result {
	t.Helper()
	instant := func(minute int) string {
		return strconv.FormatInt(midnight.Add(time.Duration(minute)*time.Minute).Unix(), 10)
	}
	response, err := http.PostForm("http://"+p.address+"/api/v1/query_range", url.Values{
		"query": {expr}, "start": {instant(first)}, "end": {instant(last)}, "step": {strconv.Itoa(step * 60)},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Error string
		Data  struct{ Result []result }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.Error != "" {
		t.Fatalf("%s: %v %s", expr, err, answer.Error)
	}
	return answer.Data.Result
}

// ask evaluates an expression over routes or stages.
func (p prometheus) ask(t *testing.T, expr string, first, last, step int) series {
	t.Helper()
	all := series{}
	for _, r := range p.query(t, expr, first, last, step) {
		l := alert.Labels{Service: r.Metric["service"], Route: r.Metric["route"]}
		if l.Route == "" {
			l = alert.Labels{Service: r.Metric["service"], Stage: r.Metric["stage"], Cause: r.Metric["cause"]}
		}
		if all[l] == nil {
			all[l] = map[int]float64{}
		}
		for _, v := range r.Values {
			value, _ := strconv.ParseFloat(v[1].(string), 64)
			all[l][int(v[0].(float64)-float64(midnight.Unix()))/60] = value
		}
	}
	return all
}

// record evaluates records at the intervals of their groups, as OpenMetrics with times.
func (p prometheus) record(t *testing.T, file promrule.File) string {
	t.Helper()
	var text strings.Builder
	for _, g := range file.Groups {
		interval, err := time.ParseDuration(g.Interval)
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range g.Rules {
			for _, r := range p.query(t, rule.Expr, 0, 1440, int(interval/time.Minute)) {
				labels := []string{}
				for name, value := range r.Metric {
					if name != "__name__" {
						labels = append(labels, name+"="+strconv.Quote(value))
					}
				}
				for _, v := range r.Values {
					fmt.Fprintf(&text, "%s{%s} %s %.3f\n", rule.Record, strings.Join(labels, ","), v[1], v[0])
				}
			}
		}
	}
	return text.String() + "# EOF\n"
}

// rules returns the records that alerts on indicators rest on, as a file, and for each alert its expression.
func rules(t *testing.T) (records promrule.File, alerts map[string]string) {
	t.Helper()
	file, err := promrule.Rules(slo.DefaultSettings(), 1)
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]string{} // conditions that are recorded to be written once
	alerts = map[string]string{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if r.Record != "" {
				written[r.Record] = r.Expr
			}
			if r.Labels[slo.LabelSLI] != "" {
				alerts[r.Alert] = r.Expr
				by := "service_route:laxity_" + r.Alert
				if found := written[by]; found != "" {
					alerts[r.Alert] = strings.ReplaceAll(r.Expr, by, "("+found+")")
				}
			}
		}
	}
	for _, g := range file.Groups {
		g.Rules = slices.DeleteFunc(g.Rules, func(r promrule.Rule) bool {
			for _, expr := range alerts {
				if r.Record != "" && strings.Contains(expr, r.Record) {
					return false
				}
			}
			return true
		})
		records.Groups = append(records.Groups, g)
	}
	return records, alerts
}

func promtool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("promtool", args...).CombinedOutput(); err != nil {
		t.Fatalf("promtool %s: %v; if it is missing, run make prometheus\n%s", strings.Join(args, " "), err, out)
	}
}

// The same day of requests is written to the engine, and sent to the connector that Prometheus scrapes every 15 s. What is counted in a
// window, and when alerts hold, differ by no more than what one evaluation step moves.
func TestAgreesWithPrometheus(t *testing.T) {
	spans := dayOfTrouble()
	folder := t.TempDir()
	data, scraped, recorded := filepath.Join(folder, "data"), filepath.Join(folder, "scraped.txt"), filepath.Join(folder, "recorded.txt")
	if err := os.WriteFile(scraped, []byte(expose(t, spans).text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	promtool(t, "tsdb", "create-blocks-from", "openmetrics", "--max-block-duration", "128h", "--quiet", scraped, data)
	t.Logf("blocks after %s", time.Since(began))
	// A scrape that lacks a series marks it as gone. What is imported has no such marks; a short time to look back stands for them.
	server, stop := serve(t, data, "20s")
	records, alerts := rules(t)
	if err := os.WriteFile(recorded, []byte(server.record(t, records)), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "tsdb", "create-blocks-from", "openmetrics", "--max-block-duration", "128h", "--quiet", recorded, data)
	t.Logf("rules after %s", time.Since(began))
	testCountsAgree(t, server, spans)
	stop()
	server, _ = serve(t, data, "5m") // new blocks are seen at once
	t.Logf("counts after %s", time.Since(began))
	testAlertsAgree(t, server, alerts, newReference(spans))
	t.Logf("alerts after %s", time.Since(began))
}

// testAlertsAgree compares when alerts hold. That TestAgreesWithDefinitions holds the engine against the same reference makes the native
// side's part.
func testAlertsAgree(t *testing.T, server prometheus, exprs map[string]string, want reference) {
	t.Helper()
	for _, a := range definitions(t) {
		if a.SLI == "" {
			continue
		}
		native := series{}
		for minute := 1; minute <= 1440; minute++ {
			for l := range alert.Evaluate(a, want.values(a, minute), midnight) {
				if native[l] == nil {
					native[l] = map[int]float64{}
				}
				native[l][minute] = 1
			}
		}
		found := server.ask(t, exprs[a.Name], 1, 1440, 1)
		for l := range found {
			if native[l] == nil {
				t.Errorf("%s of %s holds in Prometheus alone: %v", a.Name, l, found[l])
			}
		}
		for l, minutes := range native {
			changes, most := 0, 0
			for minute := 3; minute <= 1438; minute++ {
				_, before := minutes[minute-1]
				_, holds := minutes[minute]
				_, also := found[l][minute]
				if before != holds {
					changes++
				}
				if holds == also {
					continue
				}
				// How far is the nearest minute in which the other side says the same?
				distance := 1
				for ; distance < 1440; distance++ {
					_, earlier := found[l][minute-distance]
					_, later := found[l][minute+distance]
					if earlier == holds || later == holds {
						break
					}
				}
				if most = max(most, distance); distance > 1 {
					t.Errorf("%s of %s in minute %d: natively %t, in Prometheus %t, and so for %d steps", a.Name, l, minute, holds, also, distance)
				}
			}
			t.Logf("%s of %s: %d changes, %d steps apart at most", a.Name, l, changes, most)
		}
	}
}

// counted is how much a counter rose, with the first value of a series that began in the window.
func counted(selector string, over time.Duration) string {
	w := promrule.Duration(over)
	return fmt.Sprintf("sum by (service, route) ((increase(%[1]s[%[2]s]) + (min_over_time(%[1]s[%[2]s]) unless %[1]s offset %[2]s)) or increase(%[1]s[%[2]s]))", selector, w)
}

// testCountsAgree compares what is counted in windows that end at whole hours. Prometheus's count must lie between the engine's of the
// window that is a step shorter at both ends and of that which is a step longer. Beyond that increase may extrapolate over one scrape of
// the time that a series is there, five minutes at least. Nothing may be missing, although the connector forgets series after an hour: one
// that comes again begins at zero.
func testCountsAgree(t *testing.T, server prometheus, spans []span.Span) {
	t.Helper()
	store := storagetest.Open(t)
	store.InsertHops(t, spans...)
	w, err := watch.New(watch.Config{Store: store.DB, Alerts: definitions(t), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.EvaluateAt(t.Context(), midnight.Add(24*time.Hour), time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	compared := 0
	check := func(what string, over time.Duration, hour int, got, least, most float64) {
		compared++
		seen := min(over, 5*time.Minute)
		most *= seen.Seconds() / (seen - scrape).Seconds()
		if got < least-1e-6 || got > most+1e-6 {
			t.Errorf("%s in the %s until hour %d: %v in Prometheus, %v to %v in the engine", what, over, hour, got, least, most)
		}
	}
	entries := entriesOf(t, store)
	for _, over := range []time.Duration{5 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour} {
		var windows []storage.Window
		for hour := 1; hour <= 24; hour++ {
			at := midnight.Add(time.Duration(hour) * time.Hour)
			windows = append(windows, storage.Window{From: at.Add(time.Minute - over), To: at.Add(-time.Minute)}, storage.Window{From: at.Add(-over - time.Minute), To: at.Add(time.Minute)})
		}
		for _, m := range []slo.Measure{slo.Requests, slo.Missed, slo.MissedOrDegraded, slo.Cancelled, slo.StoppedLate, slo.WorkedOn} {
			by := []string{"service", "route"}
			if m == slo.Cancelled || m == slo.StoppedLate || m == slo.WorkedOn {
				by = []string{"service", "stage", "cause"}
			}
			native, err := store.AlertCounts(t.Context(), by, windows)
			if err != nil {
				t.Fatal(err)
			}
			found := server.ask(t, promrule.Events(m, by, over), 60, 1440, 60)
			for l := range found {
				if native[l].Counts[m] == nil {
					t.Errorf("%s of %s in the %s: counted in Prometheus alone", m, l, over)
				}
			}
			for l, counts := range native {
				for hour := 1; hour <= 24 && counts.Counts[m] != nil; hour++ {
					check(string(m)+" "+l.String(), over, hour, found[l][hour*60], counts.Counts[m][hour*2-2], counts.Counts[m][hour*2-1])
				}
			}
		}
		for i, selector := range []string{
			`deadline_requests_total{service!="",outcome=~"done|done_with_pending|degraded|partial"}`, `deadline_refused_total{service!="",route!=""}`,
		} {
			values := server.ask(t, counted(selector, over), 60, 1440, 60)[alert.Labels{Service: "shop", Route: "/buy"}]
			for hour := 1; hour <= 24; hour++ {
				end, minutes := hour*60, int(over/time.Minute)
				least := entries[i][end-1] - entries[i][max(end-minutes+1, 0)]
				most := entries[i][min(end+1, 1440)] - entries[i][max(end-minutes-1, 0)]
				check([]string{"answered", "refused"}[i], over, hour, values[end], least, most)
			}
		}
	}
	t.Logf("%d counts compared", compared)
}

// entriesOf counts in the engine what was answered and what was refused before each minute of the day.
func entriesOf(t *testing.T, store *storagetest.Store) (sums [2][1441]float64) {
	t.Helper()
	text, err := store.Engine.Query(fmt.Sprintf("SELECT intDiv(toUnixTimestamp(ts) - %d, 60) AS minute, countIf(answered), countIf(outcome = 'rejected') FROM %s.hops FINAL WHERE entry GROUP BY minute FORMAT TSV",
		midnight.Unix(), store.Database))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		var minute int
		var answered, refused float64
		if _, err := fmt.Sscan(line, &minute, &answered, &refused); err != nil {
			t.Fatal(err)
		}
		sums[0][minute+1], sums[1][minute+1] = answered, refused
	}
	for i := range sums {
		for minute := 1; minute <= 1440; minute++ {
			sums[i][minute] += sums[i][minute-1]
		}
	}
	return sums
}
