// Command queries measures the reports over a fill of 'laxity bench load': each against a statement over raw spans that tells the same,
// and, with -big, against itself over ten times as many hops. The data stay, so that it can be run again.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/laxity-dev/laxity/api"
	"github.com/laxity-dev/laxity/engine"
	"github.com/laxity-dev/laxity/internal/bench/load"
	"github.com/laxity-dev/laxity/migrations"
	"github.com/laxity-dev/laxity/storage"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options of a run.
type options struct {
	data, url              string
	hops, big, raw, rounds int
	limit                  time.Duration
}

func run(ctx context.Context) (err error) {
	var o options
	flag.StringVar(&o.data, "data", filepath.Join(os.TempDir(), "laxity-bench-queries"), "data directory of the engine; what it holds is used again")
	flag.StringVar(&o.url, "url", "", "an engine that runs already, such as http://127.0.0.1:8123, instead of one on the data directory")
	flag.IntVar(&o.hops, "hops", 10_000_000, "hops of the fill")
	flag.IntVar(&o.big, "big", 0, "hops of a second fill, to see how reports grow; 0 for none")
	flag.IntVar(&o.raw, "raw-days", load.Days, "days of raw spans, of which the rest of the time is extrapolated")
	flag.IntVar(&o.rounds, "rounds", 3, "times each report is asked; the shortest counts")
	flag.DurationVar(&o.limit, "limit", 5*time.Minute, "what one statement may take")
	flag.Parse()
	if o.url != "" {
		return measure(ctx, o.url, o)
	}
	e, err := engine.Open(engine.Config{Data: o.data, Listen: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- e.Serve(serving) }()
	defer func() {
		stop()
		if ended := <-served; err == nil {
			err = ended
		}
	}()
	return measure(ctx, e.URL(), o)
}

// database is one fill.
type database struct {
	*storage.DB
	plan load.Plan
}

// open fills a database unless it is filled.
func open(ctx context.Context, url, name string, hops int, limit time.Duration) (*database, error) {
	dsn := url + "/" + name
	if _, err := migrations.Up(ctx, migrations.Config{DSN: dsn}); err != nil {
		return nil, err
	}
	store, err := storage.Open(storage.Config{DSN: dsn, MaxExecutionTime: time.Hour})
	if err != nil {
		return nil, err
	}
	defer func() { _ = store.Close() }()
	plan, err := load.NewPlan(hops, time.Now())
	if err != nil {
		return nil, err
	}
	if plan, err = load.Prepare(ctx, store, plan, false, os.Stderr); err != nil {
		return nil, err
	}
	limited, err := storage.Open(storage.Config{DSN: dsn, MaxExecutionTime: limit})
	return &database{limited, plan}, err
}

// stories fails unless the reports find what was planted.
func stories(ctx context.Context, db *database) error {
	server, err := api.New(api.Config{Store: db.DB})
	if err != nil {
		return err
	}
	results, err := load.Check(ctx, server, db.plan)
	if wrong := load.Print(os.Stdout, results); err == nil && wrong > 0 {
		err = fmt.Errorf("%d of %d results are not what was planted", wrong, len(results))
	}
	return err
}

func measure(ctx context.Context, url string, o options) error {
	small, err := open(ctx, url, "laxity", o.hops, o.limit)
	if err != nil {
		return err
	}
	defer func() { _ = small.Close() }()
	if err := stories(ctx, small); err != nil {
		return err
	}
	if err := fillRaw(ctx, url, small.plan, o.raw); err != nil {
		return err
	}
	rows := make([]row, len(reports))
	for i, r := range reports {
		rows[i].report = r
		rows[i].small, rows[i].err = shortest(o.rounds, func() error { return r.ask(ctx, small) })
		if r.hasRaw() {
			rows[i].raw, rows[i].rawErr = shortest(min(o.rounds, 2), func() error { return small.askRaw(ctx, r, o.raw) })
			rows[i].raw = rows[i].raw * time.Duration(max(r.looks(), o.raw)) / time.Duration(o.raw)
		}
		fmt.Fprintf(os.Stderr, "%s: %s against %s\n", r.name, rows[i].small.Round(time.Millisecond), rows[i].raw.Round(time.Millisecond))
	}
	if o.big > 0 {
		big, err := open(ctx, url, "laxity_big", o.big, o.limit)
		if err != nil {
			return err
		}
		defer func() { _ = big.Close() }()
		for i := range rows {
			rows[i].big, rows[i].bigErr = shortest(o.rounds, func() error { return rows[i].ask(ctx, big) })
		}
	}
	table(rows, o.big > 0)
	figures(rows, o.big > 0)
	return small.bytesPerHop(ctx)
}

// row is one report and how long it takes.
type row struct {
	report
	small, raw, big     time.Duration
	err, rawErr, bigErr error
}

// shortest runs some rounds; after a failure no more.
func shortest(rounds int, run func() error) (least time.Duration, err error) {
	for range rounds {
		begin := time.Now()
		if err := run(); err != nil {
			return time.Since(begin), err
		}
		if took := time.Since(begin); least == 0 || took < least {
			least = took
		}
	}
	return least, nil
}

func table(rows []row, big bool) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "report\treads\tms\traw spans ms\tspeed-up\tbig ms\tgrowth\t")
	cell := func(d time.Duration, err error) string {
		if err != nil {
			return "ended"
		}
		return fmt.Sprintf("%.0f", d.Seconds()*1e3)
	}
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t", r.name, r.reads, cell(r.small, r.err))
		if r.hasRaw() {
			fmt.Fprintf(w, "%s\t%.1f\t", cell(r.raw, r.rawErr), r.raw.Seconds()/r.small.Seconds())
		} else {
			fmt.Fprint(w, "\t\t")
		}
		if big {
			fmt.Fprintf(w, "%s\t%.2f\t", cell(r.big, r.bigErr), r.big.Seconds()/r.small.Seconds())
		} else {
			fmt.Fprint(w, "\t\t")
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush()
	for _, r := range rows {
		for _, err := range []error{r.err, r.rawErr, r.bigErr} {
			if err != nil {
				fmt.Printf("%s: %v\n", r.name, err)
			}
		}
	}
}

// figures are the least speed-up of reports that raw spans can tell, and the greatest growth of all. A report that was ended by a limit has a speed-up of none.
func figures(rows []row, big bool) {
	least, growth, slow, grown := 0.0, 0.0, "", ""
	for _, r := range rows {
		speed := r.raw.Seconds() / r.small.Seconds()
		if r.err != nil {
			speed = 0
		}
		if r.hasRaw() && (slow == "" || speed < least) {
			least, slow = speed, r.name
		}
		if g := r.big.Seconds() / r.small.Seconds(); g > growth {
			growth, grown = g, r.name
		}
	}
	fmt.Printf("figure report_speedup_min %.1f x vs otel_traces (%s)\n", least, slow)
	if big {
		fmt.Printf("figure report_growth_max %.2f x (%s)\n", growth, grown)
	}
}
