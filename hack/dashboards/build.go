package dashboards

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/bargauge"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

const (
	gridWidth = 24
	// Heights in units of the grid.
	graphHeight, numberHeight = 8, 4

	green, yellow, red = "green", "#EAB839", "red"
	tag                = "core5g"
)

// JSON is the dashboard as Grafana reads it, the same for the same value.
func (d Dashboard) JSON() ([]byte, error) {
	built, err := d.build()
	if err != nil {
		return nil, fmt.Errorf("dashboard %s: %w", d.UID, err)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(built); err != nil {
		return nil, fmt.Errorf("dashboard %s: %w", d.UID, err)
	}
	return out.Bytes(), nil
}

func (d Dashboard) build() (dashboard.Dashboard, error) {
	b := dashboard.NewDashboardBuilder(d.Title).
		Uid(d.UID).
		Description(d.About).
		Tags([]string{tag}).
		Readonly().
		Timezone("browser").
		Refresh("30s").
		Time("now-1h", "now").
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus")).
		WithVariable(variable("namespace", "Namespace", "core5g_condition", "namespace")).
		Annotation(alerts()).
		Link(dashboard.NewDashboardLinkBuilder("core5g").Type(dashboard.DashboardLinkTypeDashboards).Tags([]string{tag}).
			AsDropdown(true).KeepTime(true).IncludeVars(true).Icon("external link"))
	if s := d.Select; s != nil {
		b.WithVariable(variable(s.Name, s.Title, s.Metric, s.Label).Multi(true).IncludeAll(true).AllValue(".+").
			Current(dashboard.VariableOption{
				Text:  dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}},
				Value: dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}},
			}))
	}
	place := layout{}
	id := uint32(0)
	for _, row := range d.Rows {
		id++
		b.WithRow(dashboard.NewRowBuilder(row.Title).Id(id).GridPos(place.row()))
		for _, p := range row.Panels {
			id++
			built, err := p.build(id, place.panel(p))
			if err != nil {
				return dashboard.Dashboard{}, fmt.Errorf("panel %q: %w", p.Title, err)
			}
			b.WithPanel(built)
		}
	}
	return b.Build()
}

// variable asks Prometheus for the values of a label.
func variable(name, title, metric, label string) *dashboard.QueryVariableBuilder {
	query := fmt.Sprintf("label_values(%s, %s)", metric, label)
	return dashboard.NewQueryVariableBuilder(name).
		Label(title).
		Datasource(source()).
		Definition(query).
		Query(dashboard.StringOrMap{Map: map[string]any{"query": query, "refId": "variable"}}).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
		Sort(dashboard.VariableSortAlphabeticalAsc)
}

// alerts marks the times at which an alert fired, in every graph.
func alerts() *dashboard.AnnotationQueryBuilder {
	return dashboard.NewAnnotationQueryBuilder().
		Name("Alerts").
		Datasource(source()).
		Enable(true).
		IconColor(red).
		Expr(`ALERTS{alertstate="firing", alertname=~"Core5G.+", namespace="$namespace"}`)
}

func source() common.DataSourceRef {
	return common.DataSourceRef{Type: ptr("prometheus"), Uid: ptr("$datasource")}
}

// layout gives panels their places: from left to right, rows of them below each other.
type layout struct {
	x, y, height uint32
}

func (l *layout) row() dashboard.GridPos {
	l.wrap()
	pos := dashboard.GridPos{X: 0, Y: l.y, W: gridWidth, H: 1}
	l.y++
	return pos
}

func (l *layout) panel(p Panel) dashboard.GridPos {
	h := uint32(graphHeight)
	if p.Kind == Number {
		h = numberHeight
	}
	if l.x+p.Width > gridWidth {
		l.wrap()
	}
	pos := dashboard.GridPos{X: l.x, Y: l.y, W: p.Width, H: h}
	l.x += p.Width
	l.height = max(l.height, h)
	return pos
}

func (l *layout) wrap() {
	l.x, l.y, l.height = 0, l.y+l.height, 0
}

func (p Panel) build(id uint32, pos dashboard.GridPos) (cog.Builder[dashboard.Panel], error) {
	if p.Width == 0 || p.Width > gridWidth {
		return nil, fmt.Errorf("width %d, want 1 to %d", p.Width, gridWidth)
	}
	if len(p.Queries) == 0 {
		return nil, fmt.Errorf("asks nothing")
	}
	queries, err := p.targets()
	if err != nil {
		return nil, err
	}
	unit := p.Unit
	if unit == "" {
		unit = "short"
	}
	switch p.Kind {
	case Lines, Area:
		b := timeseries.NewPanelBuilder().Id(id).GridPos(pos).Title(p.Title).Description(p.About).Datasource(source()).
			Unit(unit).Min(0).Targets(queries).
			LineWidth(1).FillOpacity(10).ShowPoints(common.VisibilityModeNever).
			Legend(common.NewVizLegendOptionsBuilder().DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom).ShowLegend(true)).
			Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
		if p.Empty != "" {
			b.NoValue(p.Empty)
		}
		if p.Kind == Area {
			b.Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal)).FillOpacity(30)
		}
		if p.Max != 0 {
			b.Max(p.Max)
		}
		if p.Bad != 0 {
			b.Thresholds(p.thresholds()).
				ThresholdsStyle(common.NewGraphThresholdsStyleConfigBuilder().Mode(common.GraphThresholdsStyleModeDashed))
		}
		return b, nil
	case Number:
		b := stat.NewPanelBuilder().Id(id).GridPos(pos).Title(p.Title).Description(p.About).Datasource(source()).
			Unit(unit).Targets(queries).Thresholds(p.thresholds()).
			ReduceOptions(latest()).GraphMode(common.BigValueGraphModeArea).ColorMode(common.BigValueColorModeValue)
		if p.Empty != "" {
			b.NoValue(p.Empty)
		}
		return b, nil
	case Bars:
		b := bargauge.NewPanelBuilder().Id(id).GridPos(pos).Title(p.Title).Description(p.About).Datasource(source()).
			Unit(unit).Min(0).Targets(queries).Thresholds(p.thresholds()).
			ReduceOptions(latest()).DisplayMode(common.BarGaugeDisplayModeGradient).Orientation(common.VizOrientationHorizontal)
		if p.Empty != "" {
			b.NoValue(p.Empty)
		}
		if p.Max != 0 {
			b.Max(p.Max)
		}
		return b, nil
	case Table:
		b := table.NewPanelBuilder().Id(id).GridPos(pos).Title(p.Title).Description(p.About).Datasource(source()).
			Unit(unit).Targets(queries).Thresholds(p.thresholds()).
			WithTransformation(p.columns())
		if p.Empty != "" {
			b.NoValue(p.Empty)
		}
		return b, nil
	}
	return nil, fmt.Errorf("kind %d", p.Kind)
}

func (p Panel) targets() ([]cog.Builder[variants.Dataquery], error) {
	var list []cog.Builder[variants.Dataquery]
	for i, q := range p.Queries {
		if strings.TrimSpace(q.Expr) == "" {
			return nil, fmt.Errorf("query %d is empty", i+1)
		}
		b := prometheus.NewDataqueryBuilder().RefId(string(rune('A' + i))).Datasource(source()).Expr(q.Expr)
		if p.Kind == Table {
			b.Instant().Format(prometheus.PromQueryFormatTable)
		} else {
			b.Range().LegendFormat(q.Legend)
		}
		list = append(list, b)
	}
	return list, nil
}

// columns keeps a table to the named labels, in their order.
func (p Panel) columns() dashboard.DataTransformerConfig {
	include, index, names := map[string]any{}, map[string]any{}, map[string]any{}
	for i, c := range p.Columns {
		include[c.Label], index[c.Label], names[c.Label] = true, i, c.Title
	}
	if p.Value != "" {
		include["Value"], index["Value"], names["Value"] = true, len(p.Columns), p.Value
	}
	return dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{
		"includeByName": include, "indexByName": index, "renameByName": names,
	}}
}

func (p Panel) thresholds() *dashboard.ThresholdsConfigBuilder {
	b := dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute)
	switch {
	case p.Bad == 0 && p.Warn == 0:
		return b.Steps([]dashboard.Threshold{{Color: green}})
	case p.Low:
		return b.Steps([]dashboard.Threshold{{Color: red}, {Value: ptr(p.Bad), Color: yellow}, {Value: ptr(p.Warn), Color: green}})
	case p.Warn == 0:
		return b.Steps([]dashboard.Threshold{{Color: green}, {Value: ptr(p.Bad), Color: red}})
	default:
		return b.Steps([]dashboard.Threshold{{Color: green}, {Value: ptr(p.Warn), Color: yellow}, {Value: ptr(p.Bad), Color: red}})
	}
}

func latest() *common.ReduceDataOptionsBuilder {
	return common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})
}

func ptr[T any](v T) *T { return &v }
