package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// board is one dashboard.
type board struct {
	name, title, about string
	source             source
	variables          []string // service, route, stage, peer
	panels             []panel
}

// source is the type of data source that a board asks.
type source string

const (
	metrics source = "prometheus"
	spans   source = "grafana-clickhouse-datasource"
)

// folder is where its boards lie.
func (s source) folder() string {
	if s == metrics {
		return "prometheus"
	}
	return "clickhouse"
}

// kind is how a panel draws.
type kind int

const (
	lines kind = iota // values over time
	number
	rows // the worst as of now
)

// panel is one question and how its answer is drawn.
type panel struct {
	title, about, unit string
	kind               kind
	width              uint32 // of 24; 0 is 12
	asks               []ask
}

// ask is one query: PromQL, or the name of a file of SQL in queries.
type ask struct{ query, legend string }

//go:embed queries/*.sql
var queries embed.FS

// sql returns the statement of a file without its comments.
func sql(name string) (string, error) {
	text, err := queries.ReadFile("queries/" + name + ".sql")
	if err != nil {
		return "", err
	}
	var statement []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "--") {
			statement = append(statement, strings.TrimRight(line, "\n"))
		}
	}
	return strings.Join(statement, "\n"), nil
}

// clickhouse is a query of Grafana's plugin for ClickHouse, for which the foundation sdk has no type.
type clickhouse struct {
	Datasource common.DataSourceRef `json:"datasource"`
	RefID      string               `json:"refId"`
	EditorType string               `json:"editorType"`
	QueryType  string               `json:"queryType"`
	Format     int                  `json:"format"` // 0 time series, 1 table
	RawSQL     string               `json:"rawSql"`
}

func (clickhouse) ImplementsDataqueryVariant()          {}
func (c clickhouse) Equals(o variants.Dataquery) bool   { return c == o }
func (clickhouse) DataqueryType() string                { return string(spans) }
func (clickhouse) Validate() error                      { return nil }
func (c clickhouse) Build() (variants.Dataquery, error) { return c, nil }

// ref names the data source that the board's variable holds.
func (s source) ref() common.DataSourceRef {
	kind, uid := string(s), "${source}"
	return common.DataSourceRef{Type: &kind, Uid: &uid}
}

func (b board) target(a ask, k kind, at int) (cog.Builder[variants.Dataquery], error) {
	id := string(rune('A' + at))
	if b.source == spans {
		statement, err := sql(a.query)
		c := clickhouse{Datasource: b.source.ref(), RefID: id, EditorType: "sql", QueryType: "timeseries", RawSQL: statement}
		if k != lines {
			c.QueryType, c.Format = "table", 1
		}
		return c, err
	}
	q := prometheus.NewDataqueryBuilder().Datasource(b.source.ref()).RefId(id).Expr(a.query).LegendFormat(a.legend)
	switch k {
	case lines:
		q = q.Range()
	case number:
		q = q.Instant()
	case rows:
		q = q.Instant().Format(prometheus.PromQueryFormatTable)
	}
	return q, nil
}

// grid places panels from left to right.
type grid struct{ x, y, height uint32 }

const columns = 24

func (g *grid) next(width, height uint32) dashboard.GridPos {
	if g.x+width > columns {
		g.x, g.y, g.height = 0, g.y+g.height, 0
	}
	at := dashboard.GridPos{X: g.x, Y: g.y, W: width, H: height}
	g.x, g.height = g.x+width, max(g.height, height)
	return at
}

// columnUnits are the units of the columns of statements, by what their names end with.
var columnUnits = []struct{ ending, unit string }{{"_ratio", "percentunit"}, {"_s", "s"}, {"_bytes", "bytes"}}

func (b board) panel(p panel, at dashboard.GridPos) (cog.Builder[dashboard.Panel], error) {
	var targets []cog.Builder[variants.Dataquery]
	for i, a := range p.asks {
		t, err := b.target(a, p.kind, i)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", b.name, p.title, err)
		}
		targets = append(targets, t)
	}
	switch p.kind {
	case number:
		return stat.NewPanelBuilder().Title(p.title).Description(p.about).Unit(p.unit).Datasource(b.source.ref()).GridPos(at).Targets(targets), nil
	case rows:
		t := table.NewPanelBuilder().Title(p.title).Description(p.about).Unit(p.unit).Datasource(b.source.ref()).GridPos(at).Targets(targets)
		if b.source == spans {
			for _, u := range columnUnits {
				t = t.OverrideByRegexp("/"+u.ending+"$/", []dashboard.DynamicConfigValue{{Id: "unit", Value: u.unit}})
			}
		}
		return t, nil
	}
	return timeseries.NewPanelBuilder().Title(p.title).Description(p.about).Unit(p.unit).Datasource(b.source.ref()).GridPos(at).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending)).
		FillOpacity(8).ShowPoints(common.VisibilityModeNever).Targets(targets), nil
}

// variable lets the reader choose services, routes, stages or peers.
func (b board) variable(name string) cog.Builder[dashboard.VariableModel] {
	definition := fmt.Sprintf("label_values(deadline_requests_total, %s)", name)
	if name == "stage" || name == "peer" {
		definition = fmt.Sprintf("label_values(deadline_stage_decisions_total, %s)", name)
	}
	if b.source == spans {
		definition = fmt.Sprintf("SELECT DISTINCT %[1]s FROM hops WHERE %[1]s != '' AND $__timeFilter(ts) ORDER BY %[1]s LIMIT 1000", name)
	}
	return dashboard.NewQueryVariableBuilder(name).Label(name).Datasource(b.source.ref()).Query(dashboard.StringOrMap{String: &definition}).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Multi(true).IncludeAll(true).AllValue(".*").
		Current(dashboard.VariableOption{Text: dashboard.StringOrArrayOfString{String: cog.ToPtr("All")}, Value: dashboard.StringOrArrayOfString{String: cog.ToPtr("$__all")}})
}

// json returns the dashboard as Grafana loads it.
func (b board) json() ([]byte, error) {
	//lint:ignore SA1019 the first version of the format loads in every Grafana that is in use
	d := dashboard.NewDashboardBuilder(b.title).Uid("laxity-"+b.source.folder()+"-"+b.name).Description(b.about).
		Tags([]string{"laxity", b.source.folder()}).Timezone("browser").Time("now-6h", "now").Refresh("1m").
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		WithVariable(dashboard.NewDatasourceVariableBuilder("source").Label("source").Type(string(b.source)))
	for _, v := range b.variables {
		d = d.WithVariable(b.variable(v))
	}
	var g grid
	for _, p := range b.panels {
		width, height := p.width, uint32(8)
		if width == 0 {
			width = columns / 2
		}
		if p.kind == number {
			height = 4
		}
		built, err := b.panel(p, g.next(width, height))
		if err != nil {
			return nil, err
		}
		d = d.WithPanel(built)
	}
	built, err := d.Build()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.name, err)
	}
	text, err := json.MarshalIndent(built, "", "  ")
	return append(text, '\n'), err
}
