package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/promrule"
	"github.com/laxity-dev/laxity/internal/slo"
)

// installation is everything that a user runs: laxity, Prometheus that scrapes it, and Alertmanager that tells the test.
type installation struct {
	binary, otlp, engine, prometheus string

	began time.Time
	mu    sync.Mutex
	told  []told
}

// told is one alert as Alertmanager tells it.
type told struct {
	Status      string            `json:"status"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Starts      time.Time         `json:"startsAt"`
}

// A second of the test is two minutes: an hour's window is 30 s.
const speed = 120

// run starts a program until the test ends; it returns what the groups of the patterns match in its output.
func run(t *testing.T, patterns []string, name string, args ...string) (found []string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = t.TempDir()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = writer, writer
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v; run make prometheus", err)
	}
	writer.Close()
	lines, ended := make(chan string, 1000), make(chan struct{})
	var mu sync.Mutex
	var output strings.Builder
	go func() {
		defer close(lines)
		for scan := bufio.NewScanner(reader); scan.Scan(); {
			mu.Lock()
			output.WriteString(scan.Text() + "\n")
			mu.Unlock()
			select {
			case lines <- scan.Text():
			default:
			}
		}
	}()
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(time.Minute):
			_ = cmd.Process.Kill()
			<-ended
		}
		if mu.Lock(); t.Failed() {
			t.Logf("output of %s:\n%s", name, output.String()[max(0, output.Len()-4000):])
		}
		mu.Unlock()
	})
	limit := time.After(3 * time.Minute)
	for _, p := range patterns {
		re := regexp.MustCompile(p)
		for matched := false; !matched; {
			select {
			case line, open := <-lines:
				if !open {
					t.Fatalf("%s ended before it said %q", name, p)
				}
				if m := re.FindStringSubmatch(line); m != nil {
					found, matched = append(found, m[1]), true
				}
			case <-limit:
				t.Fatalf("%s did not say %q", name, p)
			}
		}
	}
	return found
}

// install starts everything.
func install(t *testing.T) *installation {
	t.Helper()
	i := &installation{binary: os.Getenv("LAXITY_BINARY"), began: time.Now()}
	if i.binary == "" {
		i.binary = filepath.Join(t.TempDir(), "laxity")
		if out, err := exec.Command("go", "build", "-o", i.binary, "../cmd/laxity").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var message struct{ Alerts []told }
		if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
			t.Errorf("message of Alertmanager: %v", err)
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		i.told = append(i.told, message.Alerts...)
	}))
	t.Cleanup(hook.Close)

	free := "127.0.0.1:0"
	parts := run(t, []string{`^ClickHouse +(\S+)`, `^OTLP +(\S+) \(gRPC\)`, `^metrics +http://(\S+)/metrics`, `^ +http://(\S+)/metrics \(worker\)`},
		i.binary, "up", "--data", t.TempDir(), "--listen", free, "--otlp-grpc", free, "--otlp-http", free, "--engine-listen", free,
		"--metrics-listen", free, "--worker-metrics-listen", free, "--metrics-every", "500ms")
	i.engine, i.otlp = parts[0], parts[1]

	folder := t.TempDir()
	put := func(name string, v any) string {
		text, err := encode(v)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Join(folder, name)
	}
	routes := routing()
	routes["route"] = tree{"receiver": "test", "group_by": []string{"..."}, "group_wait": "100ms", "group_interval": "500ms", "repeat_interval": "1h"}
	routes["receivers"] = []tree{{"name": "test", "webhook_configs": []tree{{"url": hook.URL, "send_resolved": true}}}}
	delete(routes, "inhibit_rules")
	listening := []string{`msg="Listening on" address=(\S+)`}
	manager := run(t, listening, "prometheus-alertmanager", "--config.file", put("alertmanager.yaml", routes), "--storage.path", t.TempDir(),
		"--web.listen-address", free, "--cluster.listen-address", "")[0]

	settings := slo.DefaultSettings()
	settings.OrphanTime = time.Second     // of an hour that lasts half a minute
	settings.WorkerLag = 10 * time.Minute // the watermark's trail is not divided
	rules, err := promrule.Rules(settings, speed)
	if err != nil {
		t.Fatal(err)
	}
	put("laxity.rules.yaml", rules)
	scrape := scraping()
	scrape["global"] = tree{"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "1s"}
	scrape["alerting"] = tree{"alertmanagers": []tree{{"static_configs": []tree{{"targets": []string{manager}}}}}}
	for n, target := range parts[2:] {
		scrape["scrape_configs"].([]tree)[n]["static_configs"] = []tree{{"targets": []string{target}}}
	}
	i.prometheus = run(t, append(listening, `(Server is ready)`), "prometheus", "--config.file", put("prometheus.yaml", scrape), "--storage.tsdb.path", t.TempDir(),
		"--web.listen-address", free, "--rules.alert.resend-delay", "1s")[0]
	return i
}

// load plays the sample services for some time.
func (i *installation) load(ctx context.Context, t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(ctx, i.binary, append([]string{"demo", "--otlp-grpc", i.otlp, "--edge-listen", "127.0.0.1:0"}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil && ctx.Err() == nil {
		t.Fatalf("demo: %v\n%s", err, out)
	}
}

// seen returns the alerts of a name and status.
func (i *installation) seen(name, status string) (all []told) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, a := range i.told {
		if a.Status == status && a.Labels["alertname"] == name {
			all = append(all, a)
		}
	}
	return all
}

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

// fault is what an alert must say of the faults that are played.
type fault struct {
	alert    string
	want     map[string]string // labels, "" for any value
	promised time.Duration
}

// Prometheus and Alertmanager tell of the faults that the sample services play: which service, stage and cause; they are silent
// while there are none, and take back what is over. Meanwhile every query of every dashboard is asked.
func TestLive(t *testing.T) {
	i := install(t)
	// Prometheus looks for targets some seconds after it has begun to evaluate rules: many minutes at this speed.
	wait(t, time.Minute, func() error {
		if up, alerts := i.firing(t, "up == 1"), i.firing(t, "ALERTS"); up < 2 || alerts > 0 {
			return fmt.Errorf("%d pages are scraped, %d alerts", up, alerts)
		}
		return nil
	})
	ready := time.Now()
	i.load(t.Context(), t, "--no-faults", "--rate", "8", "--duration", length(20, 60))
	missed := i.sql(t, "SELECT countIf(answered AND ifNull(late, false) OR exhausted) FROM hops FINAL WHERE entry")
	unread := i.firing(t, "min_over_time(up[5m]) == 0")
	i.mu.Lock()
	for _, a := range i.told {
		// A machine that is too slow for the sample services misses budgets indeed, and one that cannot answer half a second
		// long has pages that cannot be read.
		if a.Status == "firing" && a.Starts.After(ready) && missed == "0" && unread == 0 {
			t.Errorf("told without a fault: %v", a)
		}
	}
	i.mu.Unlock()
	t.Logf("clean traffic: %s missed, %d pages could not be read at times", missed, unread)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var loading sync.WaitGroup
	loading.Go(func() {
		i.load(ctx, t, "--rate", "20", "--duration", "5m", "--fault", "slow_dependency=0.4", "--fault", "ignored_cancel=0.3",
			"--fault", "freeze=0.3", "--fault", "renewed_clock=0.3")
	})
	began := time.Now()
	expected := []fault{
		{"BudgetMissedFast", map[string]string{"service": "edge", "route": "/v1/answer", "stage": "", "cause": "", "severity": "page"}, time.Hour},
		{"OrphanWork", map[string]string{"service": "rerank", "cause": "", "severity": "page"}, time.Hour},
		{"SilentStreams", map[string]string{"service": "edge", "stage": "chat", "phase": "between_tokens"}, 30 * time.Minute},
	}
	if os.Getenv("LAXITY_SOAK") != "" {
		// The worker judges a trace a minute after it arrived, however fast the rest of the test is.
		expected = append(expected, fault{"RenewedClock", map[string]string{"service": "rerank", "rule": "renewed_clock"}, 4 * time.Hour})
	}
	for _, f := range expected {
		wait(t, 2*time.Minute, func() error {
			all := i.seen(f.alert, "firing")
			for _, a := range all {
				if matches(a.Labels, f.want) && a.Annotations["summary"] != "" {
					t.Logf("after %s: %v: %s", time.Since(began).Round(time.Second), a.Labels, a.Annotations["summary"])
					return nil
				}
			}
			return fmt.Errorf("%s with %v was not told, but %v", f.alert, f.want, all)
		})
		// The promise is for a machine that is not shared; elsewhere it is enough that the alert comes.
		if took := time.Since(began) * speed; took > f.promised && missed == "0" && os.Getenv("LAXITY_SOAK") != "" {
			t.Errorf("%s took %s, %s of its time", f.alert, time.Since(began), took)
		}
	}
	i.askAll(t)
	stop()
	loading.Wait()
	for _, f := range expected {
		wait(t, 2*time.Minute, func() error {
			if still := i.firing(t, `ALERTS{alertstate="firing",alertname="`+f.alert+`"}`); still > 0 {
				return fmt.Errorf("%s still fires", f.alert)
			}
			if len(i.seen(f.alert, "resolved")) == 0 {
				return fmt.Errorf("%s was not taken back", f.alert)
			}
			return nil
		})
	}
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
