package grafana

import (
	"fmt"
	"html"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// Sizes in pixels. A page is as wide as Grafana's grid, 24 columns.
const (
	cellWidth, cellHeight = 50, 30
	gap                   = 8
	titleHeight           = 26
	headHeight            = 44
	letter                = 5.6 // of the small font, about
)

const (
	background, surface, edge = "#111217", "#181b1f", "#2c3235"
	bright, dim, faint        = "#d8d9da", "#9fa7b3", "#3a3f46"
)

// colours of series, in their order.
var colours = []string{
	"#73bf69", "#5794f2", "#f2cc0c", "#ff9830", "#b877d9", "#ff7383", "#37c8c8", "#a0b060",
	"#8ab8ff", "#e0a050", "#d0608c", "#6cc39a", "#c0c0c0", "#9a7bd1", "#d8b365", "#5ab4ac",
}

var named = map[string]string{"green": "#73bf69", "red": "#f2495c"}

// picture writes SVG.
type picture struct {
	out  strings.Builder
	span Span
}

// Picture draws the page with its answers as an SVG file: what Grafana would show, in our own hand.
func (a *Answered) Picture(w io.Writer) error {
	rows := 0
	for _, p := range a.Page.Panels {
		rows = max(rows, p.GridPos.Y+p.GridPos.H)
	}
	width, height := 24*cellWidth+gap, headHeight+rows*cellHeight+gap
	d := &picture{span: a.Span}
	d.put(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" font-family="Helvetica,Arial,sans-serif" font-size="11">`, width, height, width)
	d.put(`<rect width="%d" height="%d" fill="%s"/>`, width, height, background)
	d.text(gap+4, 22, 17, bright, "start", a.Page.Title)
	d.text(float64(width-gap-4), 20, 11, dim, "end", a.chosen())
	d.text(float64(width-gap-4), 38, 10, named["red"], "end", short(a.fired(), int(float64(width)/letter)))
	for _, p := range a.Page.Panels {
		if p.Type == rowType {
			d.text(float64(gap+4), float64(headHeight+p.GridPos.Y*cellHeight+21), 14, bright, "start", p.Title)
		}
	}
	for _, answer := range a.Answers {
		d.panel(answer, a.Alerts)
	}
	d.put(`</svg>`)
	_, err := io.WriteString(w, d.out.String())
	return err
}

// chosen tells the variables and the time.
func (a *Answered) chosen() string {
	var words []string
	for _, v := range a.Page.Templating.List {
		if v.Type == "query" {
			value := a.Choice[v.Name]
			if value == v.AllValue && v.IncludeAll {
				value = "All"
			}
			words = append(words, v.Name+" "+value)
		}
	}
	return strings.Join(words, ", ") + fmt.Sprintf("   %s - %s UTC", a.Span.From.UTC().Format("15:04"), a.Span.To.UTC().Format("15:04"))
}

// fired names the alerts whose times are the red bands.
func (a *Answered) fired() string {
	seen := map[string]bool{}
	for _, s := range a.Alerts {
		seen[strings.TrimPrefix(s.Labels["alertname"], "Core5G")] = true
	}
	if len(seen) == 0 {
		return ""
	}
	return "fired: " + strings.Join(slices.Sorted(maps.Keys(seen)), ", ")
}

func (d *picture) put(form string, args ...any) { fmt.Fprintf(&d.out, form+"\n", args...) }

func (d *picture) text(x, y, size float64, colour, anchor, text string) {
	d.put(`<text x="%s" y="%s" font-size="%s" fill="%s" text-anchor="%s">%s</text>`, trim(x, 0), trim(y, 0), trim(size, 0), colour, anchor, html.EscapeString(text))
}

// frame is the inside of a panel.
type frame struct{ x, y, w, h float64 }

func (d *picture) panel(a Answer, alerts []Series) {
	g := a.Panel.GridPos
	f := frame{
		float64(g.X*cellWidth + gap), float64(headHeight + g.Y*cellHeight + gap/2),
		float64(g.W*cellWidth - gap), float64(g.H*cellHeight - gap),
	}
	d.put(`<rect x="%s" y="%s" width="%s" height="%s" rx="2" fill="%s" stroke="%s"/>`, trim(f.x, 0), trim(f.y, 0), trim(f.w, 0), trim(f.h, 0), surface, edge)
	d.text(f.x+8, f.y+17, 12, bright, "start", a.Panel.Title)
	inside := frame{f.x + 8, f.y + titleHeight, f.w - 16, f.h - titleHeight - 6}
	switch {
	case len(a.Errs) > 0:
		d.text(inside.x+inside.w/2, inside.y+inside.h/2, 12, named["red"], "middle", short(a.Errs[0].Error(), int(inside.w/letter)))
	case len(a.Series) == 0:
		empty := a.Panel.FieldConfig.Defaults.NoValue
		if empty == "" {
			empty = "No data"
		}
		d.text(inside.x+inside.w/2, inside.y+inside.h/2, 12, dim, "middle", empty)
	case a.Panel.Type == "timeseries":
		d.lines(inside, a, alerts)
	case a.Panel.Type == "stat":
		d.numbers(inside, a)
	case a.Panel.Type == "bargauge":
		d.bars(inside, a)
	case a.Panel.Type == "table":
		d.table(inside, a)
	}
}

// curve is a series on the screen's axis.
type curve struct {
	name    string
	colour  string
	samples []Sample
}

// curves are the series of a graph, added up where they are stacked.
func curves(a Answer) []curve {
	var list []curve
	sums := map[int64]float64{}
	stacked := a.Panel.FieldConfig.Defaults.Custom.Stacking.Mode == "normal"
	for i, s := range a.Series {
		c := curve{name: s.Name, colour: colours[i%len(colours)]}
		for _, sample := range s.Samples {
			if math.IsNaN(sample.Value) || math.IsInf(sample.Value, 0) {
				continue
			}
			if stacked {
				at := sample.At.Unix()
				sums[at] += sample.Value
				sample.Value = sums[at]
			}
			c.samples = append(c.samples, sample)
		}
		list = append(list, c)
	}
	return list
}

func (d *picture) lines(f frame, a Answer, alerts []Series) {
	list := curves(a)
	legendRows := d.legend(f, list)
	plot := frame{f.x + 62, f.y + 4, f.w - 66, f.h - 20 - 14*float64(legendRows)}
	unit := a.Panel.FieldConfig.Defaults.Unit
	top := 0.0
	for _, c := range list {
		for _, s := range c.samples {
			top = max(top, s.Value)
		}
	}
	top = nice(top * 1.02)
	if limit := a.Panel.FieldConfig.Defaults.Max; limit != nil {
		top = *limit
	}
	d.axes(plot, top, unit)
	x := func(at time.Time) float64 {
		return plot.x + plot.w*float64(at.Sub(d.span.From))/float64(d.span.To.Sub(d.span.From))
	}
	y := func(v float64) float64 { return plot.y + plot.h*(1-min(max(v/top, 0), 1)) }
	for _, band := range bands(alerts, d.span.Step()) {
		from, to := x(band.From), x(band.To)
		d.put(`<rect x="%s" y="%s" width="%s" height="%s" fill="%s" fill-opacity="0.12"/>`,
			trim(from, 0), trim(plot.y, 0), trim(max(to-from, 1), 0), trim(plot.h, 0), named["red"])
	}
	for _, step := range a.Panel.FieldConfig.Defaults.Thresholds.Steps {
		if step.Value != nil && *step.Value > 0 && *step.Value < top {
			d.put(`<path d="M%s %sh%s" stroke="%s" stroke-dasharray="4 3" stroke-opacity="0.7"/>`,
				trim(plot.x, 0), trim(y(*step.Value), 0), trim(plot.w, 0), colour(step.Color))
		}
	}
	stacked := a.Panel.FieldConfig.Defaults.Custom.Stacking.Mode == "normal"
	for _, c := range slices.Backward(list) {
		d.curve(c, x, y, plot, stacked)
	}
}

// bands are the times at which any of the series had a sample.
func bands(list []Series, step time.Duration) []Span {
	var times []time.Time
	for _, s := range list {
		for _, sample := range s.Samples {
			times = append(times, sample.At)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	var all []Span
	for _, at := range times {
		if n := len(all); n > 0 && at.Sub(all[n-1].To) <= step {
			all[n-1].To = at
		} else {
			all = append(all, Span{at, at})
		}
	}
	return all
}

// curve draws a line, broken where samples are missing, leaving out what lies on a straight line.
func (d *picture) curve(c curve, x func(time.Time) float64, y func(float64) float64, plot frame, fill bool) {
	hole := 2*d.span.Step() + time.Second
	var part [][2]int
	flush := func() {
		if len(part) == 0 {
			return
		}
		path := fmt.Sprintf("M%d %d", part[0][0], part[0][1])
		for i := 1; i < len(part); i++ {
			if i+1 < len(part) && part[i][1] == part[i-1][1] && part[i][1] == part[i+1][1] {
				continue
			}
			path += fmt.Sprintf("L%d %d", part[i][0], part[i][1])
		}
		if len(part) == 1 {
			path += "h2"
		}
		if fill {
			bottom := int(plot.y + plot.h)
			d.put(`<path d="%sV%dH%dZ" fill="%s" fill-opacity="0.3"/>`, path, bottom, part[0][0], c.colour)
		}
		d.put(`<path d="%s" fill="none" stroke="%s" stroke-width="1.5"/>`, path, c.colour)
		part = nil
	}
	for i, s := range c.samples {
		if i > 0 && s.At.Sub(c.samples[i-1].At) > hole {
			flush()
		}
		part = append(part, [2]int{int(math.Round(x(s.At))), int(math.Round(y(s.Value)))})
	}
	flush()
}

func (d *picture) axes(plot frame, top float64, unit string) {
	for i := range 5 {
		share := float64(i) / 4
		at := plot.y + plot.h*(1-share)
		d.put(`<path d="M%s %sh%s" stroke="%s"/>`, trim(plot.x, 0), trim(at, 0), trim(plot.w, 0), faint)
		d.text(plot.x-6, at+4, 10, dim, "end", format(top*share, unit))
	}
	span := d.span.To.Sub(d.span.From)
	every := span / 2
	for _, step := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour} {
		if float64(step)/float64(span)*plot.w >= 60 {
			every = step
			break
		}
	}
	form := "15:04"
	if every < time.Minute {
		form = "15:04:05"
	}
	for at := d.span.From.Truncate(every).Add(every); !at.After(d.span.To); at = at.Add(every) {
		x := plot.x + plot.w*float64(at.Sub(d.span.From))/float64(span)
		if x < plot.x+10 || x > plot.x+plot.w-10 {
			continue
		}
		d.text(x, plot.y+plot.h+14, 10, dim, "middle", at.UTC().Format(form))
	}
}

// legend writes names below the plot, on three lines at most, and says on how many.
func (d *picture) legend(f frame, list []curve) int {
	const most = 3
	type word struct {
		x    float64
		row  int
		text string
		fill string
	}
	var words []word
	x, row := 0.0, 0
	for i, c := range list {
		name := short(c.name, int(f.w/letter)-4)
		width := 18 + letter*float64(len([]rune(name)))
		more := fmt.Sprintf("and %d more", len(list)-i)
		room := f.w
		if row == most-1 && i < len(list)-1 {
			room -= 18 + letter*float64(len(more))
		}
		if x > 0 && x+width > room {
			if row == most-1 {
				words = append(words, word{x, row, more, ""})
				break
			}
			x, row = 0, row+1
		}
		words = append(words, word{x, row, name, c.colour})
		x += width + 6
	}
	rows := row + 1
	for _, w := range words {
		y := f.y + f.h - 14*float64(rows-1-w.row)
		if w.fill != "" {
			d.put(`<rect x="%s" y="%s" width="10" height="3" fill="%s"/>`, trim(f.x+w.x, 0), trim(y-5, 0), w.fill)
		}
		d.text(f.x+w.x+14, y-1, 10, dim, "start", w.text)
	}
	return rows
}

// numbers shows the latest values beside each other, each above its curve.
func (d *picture) numbers(f frame, a Answer) {
	each := f.w / float64(len(a.Series))
	for i, s := range a.Series {
		at := frame{f.x + each*float64(i), f.y, each, f.h}
		fill := shade(a.Panel, s.Last())
		d.sparkline(at, s.Series, fill)
		text := format(s.Last(), a.Panel.FieldConfig.Defaults.Unit)
		size := min(34, at.w/(0.6*float64(len([]rune(text)))))
		base := at.y + at.h/2 + 8
		if s.Name != "" {
			base -= 8
			d.text(at.x+at.w/2, at.y+at.h-2, 11, dim, "middle", short(s.Name, int(at.w/letter)))
		}
		d.text(at.x+at.w/2, base, size, fill, "middle", text)
	}
}

func (d *picture) sparkline(f frame, s Series, fill string) {
	top := 0.0
	for _, sample := range s.Samples {
		if !math.IsNaN(sample.Value) && !math.IsInf(sample.Value, 0) {
			top = max(top, sample.Value)
		}
	}
	if top == 0 || len(s.Samples) < 2 {
		return
	}
	x := func(at time.Time) float64 {
		return f.x + f.w*float64(at.Sub(d.span.From))/float64(d.span.To.Sub(d.span.From))
	}
	y := func(v float64) float64 { return f.y + f.h - f.h*0.4*min(max(v/top, 0), 1) }
	path := fmt.Sprintf("M%d %d", int(x(s.Samples[0].At)), int(f.y+f.h))
	last := -1
	for i, sample := range s.Samples {
		if math.IsNaN(sample.Value) || math.IsInf(sample.Value, 0) {
			continue
		}
		if h := int(math.Round(y(sample.Value))); h != last || i == len(s.Samples)-1 {
			path += fmt.Sprintf("L%d %d", int(math.Round(x(sample.At))), h)
			last = h
		}
	}
	d.put(`<path d="%sV%dZ" fill="%s" fill-opacity="0.15"/>`, path, int(f.y+f.h), fill)
}

func (d *picture) bars(f frame, a Answer) {
	end := 0.0
	for _, s := range a.Series {
		end = max(end, s.Last())
	}
	end = nice(end)
	if limit := a.Panel.FieldConfig.Defaults.Max; limit != nil {
		end = *limit
	}
	each := min(f.h/float64(len(a.Series)), 44)
	for i, s := range a.Series {
		y := f.y + each*float64(i)
		d.text(f.x, y+11, 10, dim, "start", short(s.Name, int(f.w/letter)))
		full := f.w - 90
		height := max(each-18, 3)
		d.put(`<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`, trim(f.x, 0), trim(y+14, 0), trim(full, 0), trim(height, 0), faint)
		d.put(`<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`, trim(f.x, 0), trim(y+14, 0), trim(full*min(max(s.Last()/end, 0), 1), 0), trim(height, 0), shade(a.Panel, s.Last()))
		d.text(f.x+f.w, y+14+height/2+5, 13, shade(a.Panel, s.Last()), "end", format(s.Last(), a.Panel.FieldConfig.Defaults.Unit))
	}
}

// table shows the columns that the panel's transformation keeps, one row for each series.
func (d *picture) table(f frame, a Answer) {
	if len(a.Panel.Transformations) == 0 {
		return
	}
	o := a.Panel.Transformations[0].Options
	var columns []string
	for name, keep := range o.Include {
		if keep {
			columns = append(columns, name)
		}
	}
	slices.SortFunc(columns, func(x, y string) int { return o.Index[x] - o.Index[y] })
	var rows [][]string
	for _, s := range a.Series {
		var row []string
		for _, c := range columns {
			if c == "Value" {
				row = append(row, format(s.Last(), a.Panel.FieldConfig.Defaults.Unit))
			} else {
				row = append(row, s.Labels[c])
			}
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, slices.Compare[[]string])
	// A column is as wide as its longest word asks for, in proportion.
	widths, sum := make([]float64, len(columns)), 0.0
	for i, c := range columns {
		longest := len([]rune(o.Rename[c]))
		for _, row := range rows {
			longest = max(longest, len([]rune(row[i])))
		}
		widths[i] = float64(longest + 2)
		sum += widths[i]
	}
	const line = 17
	fits := int(f.h/line) - 1
	x := f.x
	for i, c := range columns {
		w := widths[i] / sum * f.w
		d.text(x, f.y+12, 11, "#6e9fff", "start", o.Rename[c])
		for j, row := range rows {
			if j >= fits || j == fits-1 && len(rows) > fits {
				break
			}
			d.text(x, f.y+12+float64(line*(j+1)), 11, bright, "start", short(row[i], int(w/letter)))
		}
		x += w
	}
	if len(rows) > fits {
		d.text(f.x, f.y+12+float64(line*fits), 11, dim, "start", fmt.Sprintf("and %d more", len(rows)-fits+1))
	}
}

// shade is the colour of the last threshold that the value has reached.
func shade(p Panel, v float64) string {
	fill := named["green"]
	for _, step := range p.FieldConfig.Defaults.Thresholds.Steps {
		if step.Value == nil || v >= *step.Value {
			fill = colour(step.Color)
		}
	}
	return fill
}

func colour(name string) string {
	if hex, ok := named[name]; ok {
		return hex
	}
	return name
}
