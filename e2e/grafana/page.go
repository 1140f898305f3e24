package grafana

import (
	"encoding/json"
	"fmt"
	"os"
)

// Page is a dashboard, as far as it matters for asking and drawing.
type Page struct {
	UID        string  `json:"uid"`
	Title      string  `json:"title"`
	Panels     []Panel `json:"panels"`
	Templating struct {
		List []Variable `json:"list"`
	} `json:"templating"`
	Annotations struct {
		List []struct {
			Name string `json:"name"`
			Expr string `json:"expr"`
		} `json:"list"`
	} `json:"annotations"`
}

// Panel is a panel, or the heading of a row.
type Panel struct {
	ID      int    `json:"id"`
	Type    string `json:"type"`
	Title   string `json:"title"`
	GridPos struct {
		X, Y, W, H int
	} `json:"gridPos"`
	Targets     []Target `json:"targets"`
	FieldConfig struct {
		Defaults struct {
			Unit       string   `json:"unit"`
			NoValue    string   `json:"noValue"`
			Min        *float64 `json:"min"`
			Max        *float64 `json:"max"`
			Thresholds struct {
				Steps []struct {
					Value *float64 `json:"value"`
					Color string   `json:"color"`
				} `json:"steps"`
			} `json:"thresholds"`
			Custom struct {
				Stacking struct {
					Mode string `json:"mode"`
				} `json:"stacking"`
			} `json:"custom"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Transformations []struct {
		ID      string `json:"id"`
		Options struct {
			Include map[string]bool   `json:"includeByName"`
			Index   map[string]int    `json:"indexByName"`
			Rename  map[string]string `json:"renameByName"`
		} `json:"options"`
	} `json:"transformations"`
}

// Target is a query of a panel.
type Target struct {
	RefID   string `json:"refId"`
	Expr    string `json:"expr"`
	Legend  string `json:"legendFormat"`
	Instant bool   `json:"instant"`
}

// Variable is what stands above a dashboard to choose from.
type Variable struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	Definition string `json:"definition"`
	IncludeAll bool   `json:"includeAll"`
	AllValue   string `json:"allValue"`
}

const rowType = "row"

// Read reads a dashboard's file.
func Read(path string) (*Page, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, content)
}

// Parse is Read for what is no file; name is for errors.
func Parse(name string, content []byte) (*Page, error) {
	page := &Page{}
	if err := json.Unmarshal(content, page); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, p := range page.Panels {
		switch p.Type {
		case rowType, "timeseries", "stat", "bargauge", "table":
		default:
			return nil, fmt.Errorf("%s: panel %q is a %s: teach package grafana how to draw it", name, p.Title, p.Type)
		}
		for _, tr := range p.Transformations {
			if tr.ID != "organize" {
				return nil, fmt.Errorf("%s: panel %q has the transformation %s: teach package grafana to do it", name, p.Title, tr.ID)
			}
		}
	}
	return page, nil
}
