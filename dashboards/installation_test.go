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
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/listen"
	"github.com/laxity-dev/laxity/internal/promrule"
	"github.com/laxity-dev/laxity/internal/slo"
)

// installation is everything that a user runs: the parts of laxity, Prometheus that scrapes them, and Alertmanager that tells the test.
type installation struct {
	binary, otlp, prometheus string
	engine, worker           *program
	startWorker              func() *program
	alerts                   map[string]slo.Alert // as they are defined, in their own time

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
	at          time.Time
}

const (
	// A second of the test is two minutes: an hour's window is 30 s.
	speed = 120
	// erosion is the same of MarginErosion alone, whose windows are a day and a week: an hour's window is 2 s.
	erosion = 1800
)

// program is one that runs until the test ends, or stop is called. said is what the groups of its patterns matched.
type program struct {
	said    []string
	process *os.Process
	stop    func()
}

// run starts a program; patterns must match lines of its output in their order.
func run(t *testing.T, patterns []string, name string, args ...string) *program {
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
	p := &program{process: cmd.Process, stop: func() {
		_ = cmd.Process.Signal(syscall.SIGCONT) // what is halted does not end
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(time.Minute):
			_ = cmd.Process.Kill()
			<-ended
		}
	}}
	t.Cleanup(func() {
		p.stop()
		if mu.Lock(); t.Failed() {
			t.Logf("output of %s %.40s:\n%s", name, args, output.String()[max(0, output.Len()-4000):])
		}
		mu.Unlock()
	})
	limit := time.After(3 * time.Minute)
	for _, pattern := range patterns {
		re := regexp.MustCompile(pattern)
		for matched := false; !matched; {
			select {
			case line, open := <-lines:
				if !open {
					t.Fatalf("%s ended before it said %q", name, pattern)
				}
				if m := re.FindStringSubmatch(line); m != nil {
					p.said, matched = append(p.said, m[1:]...), true
				}
			case <-limit:
				t.Fatalf("%s did not say %q", name, pattern)
			}
		}
	}
	return p
}

// limits are those of the test: little traffic must do, an hour lasts half a minute, and the worker's trail is not divided.
func limits() slo.Settings {
	s := slo.DefaultSettings()
	s.MinRequests, s.MinAnswers, s.OrphanTime, s.WorkerLag = 20, 10, time.Second, workerLag
	return s
}

// workerLag is more than the worker's trail of a minute and what it takes for a pass.
const workerLag = 90 * time.Second

// install starts everything.
func install(t *testing.T) *installation {
	t.Helper()
	i := &installation{binary: os.Getenv("LAXITY_BINARY"), began: time.Now(), alerts: map[string]slo.Alert{}}
	if i.binary == "" {
		i.binary = filepath.Join(t.TempDir(), "laxity")
		if out, err := exec.Command("go", "build", "-o", i.binary, "../cmd/laxity").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	free, data := "127.0.0.1:0", t.TempDir()
	i.engine = run(t, []string{`listening on (\S+)$`}, i.binary, "engine", "--data", filepath.Join(data, "clickhouse"), "--listen", free)
	dsn := i.engine.said[0] + "/laxity"
	if out, err := exec.Command(i.binary, "migrate", "--clickhouse", dsn).CombinedOutput(); err != nil {
		t.Fatalf("migrate: %v\n%s", err, out)
	}
	collector := run(t, []string{`OTLP on (\S+) \(gRPC\).* metrics on http://(\S+)/metrics`}, i.binary, "collector", "--clickhouse", dsn, "--data", data,
		"--otlp-grpc", free, "--otlp-http", free, "--metrics-listen", free, "--metrics-every", "500ms", "--queue-spans", "4000")
	i.otlp = collector.said[0]
	address := free // that of the worker stays when it is started again
	if err := listen.FreePorts(map[string]*string{"worker": &address}); err != nil {
		t.Fatal(err)
	}
	i.startWorker = func() *program {
		return run(t, []string{`http://(\S+)/metrics`}, i.binary, "worker", "--clickhouse", dsn, "--worker-metrics-listen", address, "--every", "2s")
	}
	i.worker = i.startWorker()
	i.prometheus = i.observe(t, collector.said[1], address)
	return i
}

// observe starts Alertmanager and Prometheus, which scrapes the pages of collector and worker, and returns the latter's address.
func (i *installation) observe(t *testing.T, pages ...string) string {
	t.Helper()
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var message struct{ Alerts []told }
		if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
			t.Errorf("message of Alertmanager: %v", err)
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		for _, a := range message.Alerts {
			a.at = time.Now()
			i.told = append(i.told, a)
		}
	}))
	t.Cleanup(hook.Close)
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
		"--web.listen-address", "127.0.0.1:0", "--cluster.listen-address", "").said[0]

	all, err := slo.Alerts(limits())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		i.alerts[a.Name] = a
	}
	slow := slices.IndexFunc(all, func(a slo.Alert) bool { return a.Name == "MarginErosion" })
	put("erosion.rules.yaml", promrule.Of(all[slow:slow+1], limits(), erosion))
	put("laxity.rules.yaml", promrule.Of(slices.Delete(all, slow, slow+1), limits(), speed))
	scrape := scraping()
	scrape["global"] = tree{"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "1s"}
	scrape["rule_files"] = []string{"*.rules.yaml"}
	scrape["alerting"] = tree{"alertmanagers": []tree{{"static_configs": []tree{{"targets": []string{manager}}}}}}
	for n, page := range pages {
		scrape["scrape_configs"].([]tree)[n]["static_configs"] = []tree{{"targets": []string{page}}}
	}
	address := run(t, listening, "prometheus", "--config.file", put("prometheus.yaml", scrape), "--storage.tsdb.path", t.TempDir(),
		"--web.listen-address", "127.0.0.1:0", "--rules.alert.resend-delay", "1s").said[0]
	wait(t, 3*time.Minute, func() error { // it may say that it is ready before it says where
		response, err := http.Get("http://" + address + "/-/ready")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("Prometheus: %s", response.Status)
		}
		return nil
	})
	return address
}

// load plays the sample services for some time.
func (i *installation) load(ctx context.Context, t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(ctx, i.binary, append([]string{"demo", "--otlp-grpc", i.otlp, "--edge-listen", "127.0.0.1:0", "--quiet"}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	// A machine that is too slow loses spans; the alerts come from those that arrive.
	if out, err := cmd.CombinedOutput(); err != nil && ctx.Err() == nil {
		t.Logf("demo: %v\n%s", err, out)
	}
}

// seen returns the alerts of a name and status that were told of after an instant.
func (i *installation) seen(name, status string, after time.Time) (all []told) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, a := range i.told {
		if a.Status == status && a.Labels["alertname"] == name && a.at.After(after) {
			all = append(all, a)
		}
	}
	return all
}
