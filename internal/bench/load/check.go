package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"
)

// Result is one thing that a report was asked: what was planted, what it says.
type Result struct {
	Report, Subject, Planted, Found string
	OK                              bool
}

// Print writes results as a table and returns how many are not what was planted.
func Print(out io.Writer, results []Result) (wrong int) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "report\tof\tplanted\tfound\t")
	for _, r := range results {
		mark := ""
		if !r.OK {
			mark = "WRONG"
			wrong++
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.Report, r.Subject, r.Planted, r.Found, mark)
	}
	_ = w.Flush()
	return wrong
}

// checker asks an API and collects results.
type checker struct {
	ctx     context.Context
	api     http.Handler
	plan    Plan
	stories map[[2]string]Story
	results []Result
}

// Check asks the reports of an API for the stories of a plan. Each planted change has to be there with its value; whatever else is
// significant is a result of its own.
func Check(ctx context.Context, api http.Handler, plan Plan) ([]Result, error) {
	c := &checker{ctx: ctx, api: api, plan: plan, stories: map[[2]string]Story{}}
	for _, s := range plan.Stories {
		c.stories[[2]string{s.Service, s.Route}] = s
	}
	for _, check := range []func() error{c.margins, c.stages, c.attribution, c.findings} {
		if err := check(); err != nil {
			return c.results, err
		}
	}
	return c.results, nil
}

func (c *checker) add(report string, s Story, planted, found string, ok bool) {
	c.results = append(c.results, Result{report, fmt.Sprintf("%s %s %s", s.Service, s.Route, s.Kind), planted, found, ok})
}

// ask reads a report over a window into an answer.
func (c *checker) ask(path string, from, to time.Time, more url.Values, into any) error {
	query := url.Values{"from": {from.Format(time.RFC3339)}, "to": {to.Format(time.RFC3339)}, "limit": {"1000"}}
	for name, values := range more {
		query[name] = values
	}
	request := httptest.NewRequestWithContext(c.ctx, http.MethodGet, "http://localhost/api/v1/"+path+"?"+query.Encode(), nil)
	answer := httptest.NewRecorder()
	c.api.ServeHTTP(answer, request)
	if answer.Code != http.StatusOK {
		return fmt.Errorf("%s: %d %s", path, answer.Code, strings.TrimSpace(answer.Body.String()))
	}
	if err := json.Unmarshal(answer.Body.Bytes(), into); err != nil {
		return fmt.Errorf("%s: answer: %w", path, err)
	}
	return nil
}

// near reports whether a value is the planted one, with a part of it that it may be off.
func near(found, planted, part float64) bool {
	return math.Abs(found-planted) <= part*math.Abs(planted)
}

func perDay(seconds float64) string { return fmt.Sprintf("%+.1f ms/day", seconds*1e3) }

func milliseconds(seconds float64) string { return fmt.Sprintf("%+.0f ms", seconds*1e3) }

// margins asks for trends: the shrinking routes shrink as planted, and no other margin has a direction.
func (c *checker) margins() error {
	var answer struct {
		Rows []struct {
			Service, Route string
			Trend          *struct {
				Slope       float64 `json:"slope_s_per_day"`
				P           float64 `json:"p_value"`
				Significant bool
				Crosses     *struct{ From time.Time } `json:"crosses_zero"`
				Grown       []struct {
					Part, Stage string
					PerDay      float64 `json:"s_per_day"`
				} `json:"grown_stages"`
			}
		}
	}
	if err := c.ask("reports/margin", c.plan.From, c.plan.To, nil, &answer); err != nil {
		return err
	}
	fitted, others := 0, 0
	for _, row := range answer.Rows {
		s, told := c.stories[[2]string{row.Service, row.Route}]
		if row.Trend != nil {
			fitted++
		}
		significant := row.Trend != nil && row.Trend.Significant
		switch {
		case told && s.Kind == Shrinks:
			planted := -s.Amount.Seconds()
			if !significant {
				c.add("margin trend", s, perDay(planted), "no trend", false)
				continue
			}
			c.add("margin trend", s, perDay(planted), perDay(row.Trend.Slope), near(row.Trend.Slope, planted, 0.1))
			grown := row.Trend.Grown
			if len(grown) != 1 || grown[0].Stage != "retrieve" {
				c.add("what grew", s, "retrieve "+perDay(-planted), fmt.Sprint(grown), false)
				continue
			}
			c.add("what grew", s, "retrieve "+perDay(-planted), "retrieve "+perDay(grown[0].PerDay), near(grown[0].PerDay, -planted, 0.05))
		case significant && !told:
			others++
			fallthrough
		case told:
			found := "no trend"
			if significant {
				found = perDay(row.Trend.Slope)
			}
			c.add("margin trend", Story{Service: row.Service, Route: row.Route, Kind: s.Kind}, "no trend", found, !significant)
		}
	}
	want := c.plan.Routes + 4*c.plan.Backs
	c.results = append(c.results, Result{"margin trend", fmt.Sprintf("%d other routes", want-len(c.stories)), "no trend",
		fmt.Sprintf("%d of %d trends", others, fitted), others == 0 && fitted == want})
	return nil
}

// stages asks how what was spent at each stage went over time, for the services of the stories.
func (c *checker) stages() error {
	asked := map[string]bool{}
	for _, s := range c.plan.Stories {
		if asked[s.Service] {
			continue
		}
		asked[s.Service] = true
		var answer struct {
			Rows []struct {
				Service, Route, Stage string
				Trend                 *struct {
					Spend       float64 `json:"spend_s_per_day"`
					Significant bool    `json:"spend_significant"`
					Degrading   bool    `json:"degraded_significant"`
				}
			}
		}
		if err := c.ask("reports/stages", c.plan.To.Add(-day), c.plan.To, url.Values{"service": {s.Service}}, &answer); err != nil {
			return err
		}
		for _, row := range answer.Rows {
			told := c.stories[[2]string{row.Service, row.Route}]
			told.Service, told.Route = row.Service, row.Route
			shrinks := told.Kind == Shrinks && row.Stage == "retrieve"
			found := "no trend"
			if row.Trend != nil && (row.Trend.Significant || row.Trend.Degrading) {
				found = perDay(row.Trend.Spend)
			}
			switch {
			case shrinks:
				c.add("stages", told, "retrieve "+perDay(told.Amount.Seconds()), "retrieve "+found,
					row.Trend != nil && row.Trend.Significant && near(row.Trend.Spend, told.Amount.Seconds(), 0.05))
			case found != "no trend":
				c.add("stages", told, row.Stage+" no trend", row.Stage+" "+found, false)
			}
		}
	}
	return nil
}

// attribution compares the last week with the one before.
func (c *checker) attribution() error {
	type part struct {
		Part, Stage string
		Change      float64 `json:"change_s"`
	}
	var answer struct {
		Rows []struct {
			Service, Route string
			Change         *float64 `json:"change_s"`
			Clear          bool
			Parts          []part
		}
	}
	if err := c.ask("reports/attribution", c.plan.To.Add(-7*day), c.plan.To, nil, &answer); err != nil {
		return err
	}
	clear, largest := 0, 0.0
	for _, row := range answer.Rows {
		s, told := c.stories[[2]string{row.Service, row.Route}]
		if row.Change == nil {
			continue
		}
		name, planted, off := "", 0.0, 0.1
		switch s.Kind {
		case Shrinks:
			name, planted = "retrieve", -7*s.Amount.Seconds()
		case Steps:
			name, planted, off = "retrieve", -s.Amount.Seconds(), 0.05
		case Mixes:
			name, planted, off = "mix", -s.Amount.Seconds(), 0.2
		case Recut:
			name, planted, off = "budget", -s.Amount.Seconds(), 0.01
		case Noisy:
			c.add("attribution", s, "within "+milliseconds(s.Amount.Seconds()), milliseconds(*row.Change), math.Abs(*row.Change) < s.Amount.Seconds())
			continue
		default:
			if told { // seasonal: the weeks have the same days
				c.add("attribution", s, "no change", milliseconds(*row.Change), math.Abs(*row.Change) < s.Amount.Seconds()/5)
				continue
			}
			if largest = max(largest, math.Abs(*row.Change)); row.Clear {
				clear++
			}
			continue
		}
		first := part{}
		if len(row.Parts) > 0 {
			first = row.Parts[0]
		}
		found := first.Part
		if first.Stage != "" {
			found = first.Stage
		}
		c.add("attribution", s, name+" "+milliseconds(planted), found+" "+milliseconds(first.Change),
			row.Clear && found == name && near(first.Change, planted, off))
	}
	others := c.plan.Routes + 4*c.plan.Backs - len(c.stories)
	// A 95 % interval leaves out what is true once in 20; four deviations more than that are not chance.
	bound := 0.05*float64(others) + 4*math.Sqrt(0.05*0.95*float64(others))
	c.results = append(c.results, Result{"attribution", fmt.Sprintf("%d other routes", others), fmt.Sprintf("up to %.0f clear, within 50 ms", bound),
		fmt.Sprintf("%d clear, within %.0f ms", clear, largest*1e3), float64(clear) <= bound && largest < 0.05})
	return nil
}

// findings compares the counts of findings with those of the hops that they are about.
func (c *checker) findings() error {
	var answer struct {
		Rows []struct {
			Rule   string
			Traces float64
		}
	}
	if err := c.ask("reports/findings", c.plan.From, c.plan.To, nil, &answer); err != nil {
		return err
	}
	rules := map[string]float64{}
	for _, row := range answer.Rows {
		rules[row.Rule] += row.Traces
	}
	traces := float64(c.plan.PerDay * c.plan.days())
	orphans := rules["orphan_work"] / traces
	c.results = append(c.results, Result{"findings", "clients that leave", "1 % of traces leave orphan_work", fmt.Sprintf("%.2f %%", orphans*100), near(orphans, 0.01, 0.1)})
	delete(rules, "orphan_work")
	missed := (rules["late"] + rules["exhausted"]) / traces
	c.results = append(c.results, Result{"findings", "stalls", "0.5 % of traces or more are late or exhausted", fmt.Sprintf("%.2f %%", missed*100), missed > 0.004 && missed < 0.02})
	delete(rules, "late")
	delete(rules, "exhausted")
	c.results = append(c.results, Result{"findings", "other rules", "none", fmt.Sprint(len(rules)), len(rules) == 0})
	return nil
}
