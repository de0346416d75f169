package promrule

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/laxity-dev/laxity/internal/slo"
)

// promtool runs Debian's promtool.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("promtool is missing: run make prometheus")
	}
	if out, err := exec.Command(tool, args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func write(t *testing.T, name string, v any) string {
	t.Helper()
	text, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRulesAreValid(t *testing.T) {
	for _, scale := range []float64{1, 60, 600} {
		file, err := Rules(slo.DefaultSettings(), scale)
		if err != nil {
			t.Fatal(err)
		}
		promtool(t, "check", "rules", write(t, "rules.yaml", file))
	}
}

// In the tests a second stands for a minute.
const (
	scale   = 60
	healthy = 100 // steps before trouble begins
	trouble = 80
	after   = 120
)

// course is what happens in a test: how much traffic there is and how much trouble, by step.
type course struct {
	name    string
	traffic func(step int) float64
	trouble func(step int) float64
	reset   int // step at which counters begin anew
	missing int // step from which there are no series
	steps   int
}

func flat(v float64) func(int) float64 { return func(int) float64 { return v } }

// between is v in the time of trouble.
func between(from, to int, v float64) func(int) float64 {
	return func(step int) float64 {
		if step >= from && step < to {
			return v
		}
		return 0
	}
}

// subject is an alert, the series that it is about and what to expect.
type subject struct {
	alert  string
	labels string // of the alert
	// good are increments of counters for each step of traffic, bad those of trouble; of gauges the values.
	good, bad map[string]float64
	gauges    bool
	rises     float64 // traffic in the time of trouble, as a multiple; 0 is 1
	slow      float64 // trouble that is slower
	slowFires bool
	sparse    float64 // trouble in next to no traffic
	within    int     // steps until it fires
}

const (
	jobs     = `job="laxity-collector",instance="c"`
	worker   = `job="laxity-worker",instance="w"`
	route    = jobs + `,service="edge",route="/answer"`
	hop      = jobs + `,service="edge",stage="find",peer="retrieval"`
	requests = `deadline_requests_total{` + route + `,outcome="done"}`
	late     = `deadline_late_total{` + route + `}`
	ended    = `deadline_exhausted_total{` + route + `}`
	degraded = `deadline_degraded_total{` + route + `}`
	because  = `deadline_cancellations_total{` + hop + `,cause="local_deadline"}`
	benign   = `deadline_cancellations_total{` + hop + `,cause="client_disconnect"}`
	stopped  = `deadline_post_cancel_time_seconds_count{` + hop + `,cause="local_deadline"}`
	soon     = `deadline_post_cancel_time_seconds_bucket{` + hop + `,cause="local_deadline",le="0.1"}`
	atOnce   = `deadline_post_cancel_time_seconds_bucket{` + hop + `,cause="local_deadline",le="0.001"}`
	judged   = `deadline_orphan_time_seconds_total{` + worker + `,service="rerank",route="/order",stage="",cause="upstream_deadline"}`
	early    = `deadline_orphan_early_seconds_total{` + jobs + `,service="rerank",route="/order",cause="local_deadline"}`
	renewed  = `deadline_findings_total{` + worker + `,service="rerank",stage="order",rule="renewed_clock"}`
	silent   = `deadline_timeouts_total{` + hop + `,phase="first_token"}`
	other    = `deadline_timeouts_total{` + hop + `,phase="connect"}`
	refused  = `otelcol_processor_memory_limiter_refused_spans_total{` + jobs + `,processor="memory_limiter"}`
	accepted = `otelcol_receiver_accepted_spans_total{` + jobs + `}`
	behind   = `laxity_worker_lag_seconds{` + worker + `,step="verdicts"}`
)

var edge = `service="edge",route="/answer"`
var blamed = edge + `,stage="find",peer="retrieval",cause="local_deadline"`

var subjects = []subject{
	{
		alert: "BudgetMissedFast", labels: blamed,
		good: map[string]float64{requests: 100, late: 0, ended: 0, benign: 500}, bad: map[string]float64{ended: 30, late: 20, because: 10},
		slow: 0.05, sparse: 0.005, within: 30,
	},
	{
		alert: "BudgetMissedSlow", labels: blamed,
		good: map[string]float64{requests: 100, late: 0, ended: 0, benign: 500}, bad: map[string]float64{ended: 30, late: 20, because: 10},
		slow: 0.5, slowFires: true, sparse: 0.005, within: 60,
	},
	{
		alert: "AnswersDegraded", labels: edge,
		good: map[string]float64{requests: 100, late: 0, ended: 0, degraded: 0}, bad: map[string]float64{degraded: 70, late: 10},
		slow: 0.5, slowFires: true, sparse: 0.005, within: 78,
	},
	{
		alert: "CancelledWorkStopsLate", labels: `service="edge",stage="find",cause="local_deadline"`,
		good: map[string]float64{stopped: 10, soon: 10, atOnce: 10}, bad: map[string]float64{stopped: 10},
		slow: 0.2, slowFires: true, sparse: 0.01, within: 60,
	},
	{
		alert: "WorkAfterCancel", labels: `service="edge",stage="find",cause="local_deadline"`,
		good: map[string]float64{stopped: 10, soon: 10, atOnce: 10}, bad: map[string]float64{stopped: 90, soon: 90},
		slow: 0.02, sparse: 0.001, within: 60,
	},
	{
		alert: "OrphanWork", labels: `service="rerank",cause="upstream_deadline"`,
		bad:  map[string]float64{judged: 3, early: 2},
		slow: 0.1, sparse: 0.1, within: 30,
	},
	{
		alert: "RenewedClock", labels: `service="rerank",stage="order",rule="renewed_clock"`,
		bad:  map[string]float64{renewed: 1},
		slow: 0.5, slowFires: true, sparse: 0.02, within: 8,
	},
	{
		alert: "Overload", labels: `service="edge",stage="find",peer="retrieval",cause="local_deadline"`, rises: 3,
		good: map[string]float64{requests: 100, late: 0, ended: 0, benign: 500}, bad: map[string]float64{ended: 100, because: 10},
		slow: 0.02, sparse: 0.01, within: 10,
	},
	{
		alert: "SilentStreams", labels: `service="edge",stage="find",peer="retrieval",phase="first_token"`,
		good: map[string]float64{other: 5}, bad: map[string]float64{silent: 2},
		slow: 0.5, slowFires: true, sparse: 0.05, within: 8,
	},
	{
		alert: "WorkerLag", gauges: true,
		good: map[string]float64{behind: 70}, bad: map[string]float64{behind: 400},
		slow: 0.3, sparse: 0.2, within: 5,
	},
	{
		alert: "IngestionLoss", labels: `reason="memory_limit"`,
		good: map[string]float64{accepted: 100, refused: 0}, bad: map[string]float64{refused: 1},
		slow: 0.5, slowFires: true, sparse: 0.0, within: 5,
	},
}

func courses(s subject) []course {
	rises := max(s.rises, 1)
	traffic := func(step int) float64 { return 1 + between(healthy, healthy+trouble, rises-1)(step) }
	end := healthy + trouble
	return []course{
		{name: "steady", traffic: flat(1), trouble: flat(0), steps: end},
		{name: "fast burn", traffic: traffic, trouble: between(healthy, end, 1), steps: end},
		{name: "slow burn", traffic: traffic, trouble: between(healthy, end, s.slow), steps: end},
		{name: "sparse", traffic: flat(0.003), trouble: between(healthy, end, s.sparse), steps: end},
		{name: "reset", traffic: flat(1), trouble: flat(0), reset: healthy + 20, steps: end},
		{name: "missing series", traffic: flat(1), trouble: flat(0), missing: healthy + 20, steps: end},
		{name: "recovery", traffic: traffic, trouble: between(healthy, end, 1), steps: end + after},
	}
}

type suite struct {
	RuleFiles []string `yaml:"rule_files"`
	Every     string   `yaml:"evaluation_interval"`
	Tests     []test   `yaml:"tests"`
}

type test struct {
	Name     string  `yaml:"name"`
	Interval string  `yaml:"interval"`
	Input    []input `yaml:"input_series"`
	Checks   []check `yaml:"promql_expr_test"`
}

type input struct {
	Series string `yaml:"series"`
	Values string `yaml:"values"`
}

type check struct {
	Expr string   `yaml:"expr"`
	At   string   `yaml:"eval_time"`
	Want []sample `yaml:"exp_samples"`
}

type sample struct {
	Labels string  `yaml:"labels"`
	Value  float64 `yaml:"value"`
}

// inputs are the series of a course, and that both pages are scraped.
func inputs(s subject, c course) []input {
	names := map[string]bool{}
	for name := range s.good {
		names[name] = true
	}
	for name := range s.bad {
		names[name] = true
	}
	var all []input
	for name := range names {
		var values []string
		sum := 0.0
		for step := range c.steps {
			if c.reset > 0 && step == c.reset {
				sum = 0
			}
			if c.missing > 0 && step >= c.missing {
				values = append(values, "stale")
				break
			}
			level := c.traffic(step)*s.good[name] + c.trouble(step)*s.bad[name]
			sum += level
			if _, always := s.good[name]; !always && sum == 0 {
				values = append(values, "_") // the series comes into being with its first event
				continue
			}
			if !s.gauges {
				level = float64(int(sum))
			}
			values = append(values, strconv.FormatFloat(level, 'g', -1, 64))
		}
		all = append(all, input{name, strings.Join(values, " ")})
	}
	up := "1x" + strconv.Itoa(c.steps)
	return append(all, input{`up{` + jobs + `}`, up}, input{`up{` + worker + `}`, up})
}

// only are the rules of one alert.
func only(t *testing.T, name string, scale float64) File {
	t.Helper()
	alerts, err := slo.Alerts(slo.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(alerts, func(a slo.Alert) bool { return a.Name == name })
	return Of(alerts[at:at+1], slo.DefaultSettings(), scale)
}

func (s subject) firing() []sample {
	alerts, _ := slo.Alerts(slo.DefaultSettings())
	labels := `ALERTS{alertname="` + s.alert + `",alertstate="firing"`
	for _, a := range alerts {
		if a.Name == s.alert {
			labels += `,severity="` + string(a.Severity) + `"`
			if a.SLI != "" {
				labels += `,sli="` + a.SLI + `"`
			}
		}
	}
	if s.labels != "" {
		labels += "," + s.labels
	}
	return []sample{{labels + "}", 1}}
}

func TestAlertsFireAndResolve(t *testing.T) {
	for _, s := range subjects {
		t.Run(s.alert, func(t *testing.T) {
			all := suite{RuleFiles: []string{write(t, "rules.yaml", only(t, s.alert, scale))}, Every: "1s"}
			for _, c := range courses(s) {
				one := test{Name: c.name, Interval: "1s", Input: inputs(s, c)}
				at := func(step int, fires bool) {
					k := check{Expr: `ALERTS{alertstate="firing"}`, At: fmt.Sprintf("%ds", step)}
					if fires {
						k.Want = s.firing()
					}
					one.Checks = append(one.Checks, k)
				}
				at(healthy-1, false)
				switch c.name {
				case "fast burn":
					at(healthy+s.within, true)
				case "slow burn":
					at(healthy+trouble-1, s.slowFires)
				case "recovery":
					at(healthy+s.within, true)
					at(healthy+trouble+after-1, slices.Contains([]string{"BudgetMissedSlow", "AnswersDegraded", "CancelledWorkStopsLate", "WorkAfterCancel"}, s.alert))
				default:
					at(healthy+30, false)
					at(healthy+trouble-1, false)
				}
				all.Tests = append(all.Tests, one)
			}
			promtool(t, "test", "rules", write(t, "test.yaml", all))
		})
	}
}

// A margin that shrinks day by day alerts before it is gone, also over a restart of the collector; one that falls and rises with the hours
// of the day does not, nor one that grows again, nor one of which nothing is known any more.
func TestMarginErosion(t *testing.T) {
	const day = 60 // seconds of the test
	all := suite{RuleFiles: []string{write(t, "rules.yaml", only(t, "MarginErosion", 24*60))}, Every: "1s"}
	shrinks := func(days float64) float64 { return 1 - 0.08*days }
	for name, c := range map[string]struct {
		margin func(days float64) float64 // its 5th percentile, at most 1 s
		rate   float64
		reset  int // day at which counters begin anew
		ends   int // day from which there are no series
		days   int
		fires  bool
	}{
		"steady":         {margin: func(float64) float64 { return 0.8 }},
		"shrinks":        {margin: shrinks, fires: true},
		"shrinks slowly": {margin: func(days float64) float64 { return 1 - 0.02*days }},
		"grows":          {margin: func(days float64) float64 { return 0.2 + 0.08*days }},
		"daily":          {margin: func(days float64) float64 { return 0.65 + 0.3*math.Sin(2*math.Pi*days) }},
		"sparse":         {margin: shrinks, rate: 0.5},
		"reset":          {margin: shrinks, reset: 5, fires: true},
		"steady, reset":  {margin: func(float64) float64 { return 0.8 }, reset: 5},
		"missing series": {margin: shrinks, ends: 6},
		"recovery":       {margin: func(days float64) float64 { return max(1-0.08*days, min(0.92, 0.04+0.4*(days-7))) }, days: 13},
	} {
		rate, days := cmp.Or(c.rate, 100), cmp.Or(c.days, 8)
		sums, values := [3]float64{}, [3][]string{}
		for step := range days * day {
			if c.ends > 0 && step >= c.ends*day {
				for i := range values {
					values[i] = append(values[i], "stale")
				}
				break
			}
			if c.reset > 0 && step == c.reset*day {
				sums = [3]float64{}
			}
			share := 0.05 / c.margin(float64(step)/day)
			for i, n := range [...]float64{share * rate, rate, rate} {
				sums[i] += n
				values[i] = append(values[i], strconv.FormatFloat(sums[i], 'f', 3, 64))
			}
		}
		one := test{Name: name, Interval: "1s"}
		for i, series := range []string{
			`deadline_margin_seconds_bucket{` + route + `,le="1"}`, `deadline_margin_seconds_bucket{` + route + `,le="2.5"}`,
			`deadline_margin_seconds_bucket{` + route + `,le="+Inf"}`, `deadline_margin_seconds_count{` + route + `}`, requests,
		} {
			one.Input = append(one.Input, input{series, strings.Join(values[min(i, 2)], " ")})
		}
		one.Input = append(one.Input, input{`deadline_margin_seconds_bucket{` + route + `,le="0"}`, "0x" + strconv.Itoa(days*day)})
		k := check{Expr: `ALERTS{alertstate="firing"}`, At: fmt.Sprintf("%ds", days*day-1)}
		firing := subject{alert: "MarginErosion", labels: edge}.firing()
		if c.fires {
			k.Want = firing
		}
		one.Checks = []check{{Expr: k.Expr, At: fmt.Sprintf("%ds", 2*day)}, k}
		if name == "recovery" {
			one.Checks = append(one.Checks, check{Expr: k.Expr, At: fmt.Sprintf("%ds", 7*day), Want: firing})
		}
		all.Tests = append(all.Tests, one)
	}
	promtool(t, "test", "rules", write(t, "test.yaml", all))
}

// A route with an objective of its own is held against that alone.
func TestObjectivesOfRoutes(t *testing.T) {
	settings := slo.DefaultSettings()
	settings.Routes = []slo.RouteSettings{
		{Service: "edge", Route: "/strict", Objectives: map[string]float64{slo.InTime: 0.999}},
		{Service: "edge", Route: `/loose/"a"`, Objectives: map[string]float64{slo.InTime: 0.9}},
	}
	alerts, err := slo.Alerts(settings)
	if err != nil {
		t.Fatal(err)
	}
	rules := Of(alerts[:1], settings, scale)
	one := test{Name: "one in fifty late, then one in three", Interval: "1s", Input: []input{{`up{` + jobs + `}`, "1x200"}}}
	for _, route := range []string{"/strict", "/plain", `/loose/\"a\"`} {
		labels := jobs + `,service="edge",route="` + route + `"`
		one.Input = append(one.Input, input{`deadline_requests_total{` + labels + `,outcome="done"}`, "0+100x200"},
			input{`deadline_late_total{` + labels + `}`, "0+2x100 230+33x99"}, input{`deadline_exhausted_total{` + labels + `}`, "0x200"})
	}
	firing := func(route string) sample {
		return subject{alert: "BudgetMissedFast", labels: `service="edge",route="` + route + `"`}.firing()[0]
	}
	one.Checks = []check{
		{Expr: `ALERTS{alertstate="firing"}`, At: "90s", Want: []sample{firing("/strict")}},
		{Expr: `ALERTS{alertstate="firing"}`, At: "190s", Want: []sample{firing("/strict"), firing("/plain")}},
	}
	promtool(t, "test", "rules", write(t, "test.yaml", suite{RuleFiles: []string{write(t, "rules.yaml", rules)}, Every: "1s", Tests: []test{one}}))
	documents, err := OpenSLO(settings)
	if err != nil || len(documents) != 1+len(slo.SLIs())+2 {
		t.Errorf("%d documents, %v", len(documents), err)
	}
}

// Summaries say what is known: no label without a value leaves a trace of itself.
func TestSummaries(t *testing.T) {
	for name, want := range map[string]string{
		"BudgetMissedFast": `{{ $labels.service }}{{ with $labels.route }} {{ . }}{{ end }}: {{ $value | humanizePercentage }} of requests late or out of time` +
			`{{ if or $labels.stage $labels.peer $labels.cause }}, mostly{{ with $labels.stage }} {{ . }}{{ end }}{{ with $labels.peer }}{{ if ne . $labels.stage }} {{ . }}{{ end }}{{ end }} by` +
			`{{ with $labels.cause }} {{ . }}{{ end }}{{ end }}`,
		"CancelledWorkStopsLate": `{{ $labels.service }}{{ with $labels.stage }} {{ . }}{{ end }}: {{ $value | humanizePercentage }} of work cancelled` +
			`{{ if or $labels.cause }} by{{ with $labels.cause }} {{ . }}{{ end }}{{ end }} went on for more than 100 ms`,
	} {
		rules := only(t, name, 1).Groups
		last := rules[len(rules)-1].Rules
		if got := last[len(last)-1].Annotations["summary"]; got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

// A part that cannot be scraped, and one that nobody scrapes, are missed; both back are not.
func TestMetricsMissing(t *testing.T) {
	all := suite{RuleFiles: []string{write(t, "rules.yaml", only(t, "MetricsMissing", scale))}, Every: "1s", Tests: []test{{
		Name: "down and back", Interval: "1s",
		Input: []input{{`up{` + jobs + `}`, "1x20 0x20 1x20"}, {`up{` + worker + `}`, "1x80"}},
		Checks: []check{
			{Expr: `ALERTS{alertstate="firing"}`, At: "20s"},
			{Expr: `ALERTS{alertstate="firing"}`, At: "30s", Want: subject{alert: "MetricsMissing", labels: `job="laxity-collector"`}.firing()},
			{Expr: `ALERTS{alertstate="firing"}`, At: "50s"},
		},
	}, {
		Name: "not scraped", Interval: "1s", Input: []input{{`up{` + jobs + `}`, "1x80"}},
		Checks: []check{{Expr: `ALERTS{alertstate="firing"}`, At: "30s", Want: subject{alert: "MetricsMissing", labels: `job="laxity-worker"`}.firing()}},
	}}}
	promtool(t, "test", "rules", write(t, "test.yaml", all))
}
