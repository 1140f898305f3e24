package grafana

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// format writes a value in one of Grafana's units.
func format(v float64, unit string) string {
	if math.IsNaN(v) {
		return "-"
	}
	switch unit {
	case "percentunit":
		if math.Abs(v) < 0.01 {
			return trim(v*100, 3) + " %"
		}
		return trim(v*100, 1) + " %"
	case "s":
		return seconds(v)
	case "bytes":
		return scaled(v, 1024, []string{"B", "KiB", "MiB", "GiB", "TiB"})
	case "bps":
		return scaled(v, 1000, []string{"bit/s", "kbit/s", "Mbit/s", "Gbit/s"})
	case "pps":
		return scaled(v, 1000, []string{"p/s", "kp/s", "Mp/s"})
	case "reqps", "ops":
		return scaled(v, 1000, []string{"/s", "k/s", "M/s"})
	case "none":
		return trim(v, 3)
	default:
		return strings.TrimSpace(scaled(v, 1000, []string{"", "k", "M", "G"}))
	}
}

func scaled(v, base float64, units []string) string {
	i := 0
	for math.Abs(v) >= base && i < len(units)-1 {
		v, i = v/base, i+1
	}
	digits := 0
	if math.Abs(v) < 10 {
		digits = 2
	} else if math.Abs(v) < 100 {
		digits = 1
	}
	return trim(v, digits) + " " + units[i]
}

func seconds(v float64) string {
	switch a := math.Abs(v); {
	case a == 0:
		return "0 s"
	case a < 1e-3:
		return trim(v*1e6, 0) + " µs"
	case a < 1:
		return trim(v*1e3, 1) + " ms"
	case a < 120:
		return trim(v, 1) + " s"
	case a < 86400*2:
		return time.Duration(v * float64(time.Second)).Round(time.Second).String()
	default:
		return trim(v/86400, 1) + " days"
	}
}

// trim writes at most so many digits behind the point.
func trim(v float64, digits int) string {
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if text == "-0" {
		return "0"
	}
	return text
}

// nice is the next number from v upwards whose quarters are round: an axis ends there.
func nice(v float64) float64 {
	if v <= 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 1
	}
	base := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 4, 6, 8, 10} {
		if v <= m*base*1.0000001 {
			return m * base
		}
	}
	return 10 * base
}

func short(text string, letters int) string {
	runes := []rune(text)
	if len(runes) <= letters {
		return text
	}
	return fmt.Sprintf("%s…", string(runes[:max(letters-1, 0)]))
}
