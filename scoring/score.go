// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"encoding/json"
	"fmt"
	"math"
)

// Score is a figure with its doubts.
type Score struct {
	Metric string
	// Value is NaN where the metric is undefined (null in JSON): precision
	// without a single claim, recall without positives.
	Value float64
	// N is the number of things the value is a share or mean of.
	N int
	// Skipped counts rows without a readable answer. They are in N, as wrong,
	// for headline figures, and not in it for those "on answered rows"; the
	// metric's Doc says which.
	Skipped  int
	Warnings []string
	Interval *Interval // nil where none was asked for
}

// Interval is a range around a Value.
type Interval struct {
	Low, High float64 // NaN where the value is undefined in most resamples
	Level     float64 // 0.95
	Method    string  // "bootstrap by group"
	Resamples int
	Undefined int // resamples in which the value is undefined; left out
	Groups    int
}

type scoreJSON struct {
	Metric   string        `json:"metric"`
	Value    *float64      `json:"value"`
	N        int           `json:"n"`
	Skipped  int           `json:"skipped"`
	Warnings []string      `json:"warnings,omitempty"`
	Interval *intervalJSON `json:"interval,omitempty"`
}

type intervalJSON struct {
	Low       *float64 `json:"low"`
	High      *float64 `json:"high"`
	Level     float64  `json:"level"`
	Method    string   `json:"method"`
	Resamples int      `json:"resamples"`
	Undefined int      `json:"undefined"`
	Groups    int      `json:"groups"`
}

// json is the interval as it is written; nil for none.
func (iv *Interval) json() *intervalJSON {
	if iv == nil {
		return nil
	}
	return &intervalJSON{nullable(iv.Low), nullable(iv.High), iv.Level, iv.Method, iv.Resamples, iv.Undefined, iv.Groups}
}

// MarshalJSON writes undefined bounds as null.
func (iv Interval) MarshalJSON() ([]byte, error) { return json.Marshal(iv.json()) }

// MarshalJSON writes undefined numbers as null.
func (s Score) MarshalJSON() ([]byte, error) {
	j := scoreJSON{s.Metric, nullable(s.Value), s.N, s.Skipped, s.Warnings, nil}
	j.Interval = s.Interval.json()
	return json.Marshal(j)
}

// UnmarshalJSON reads null as NaN.
func (s *Score) UnmarshalJSON(b []byte) error {
	var j scoreJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*s = Score{Metric: j.Metric, Value: orNaN(j.Value), N: j.N, Skipped: j.Skipped, Warnings: j.Warnings}
	if iv := j.Interval; iv != nil {
		s.Interval = &Interval{orNaN(iv.Low), orNaN(iv.High), iv.Level, iv.Method, iv.Resamples, iv.Undefined, iv.Groups}
	}
	return nil
}

// String prints the value with three decimals, "n/a" where it is undefined,
// and its interval if it has one.
func (s Score) String() string {
	if math.IsNaN(s.Value) {
		return "n/a"
	}
	out := fmt.Sprintf("%.3f", s.Value)
	if s.Interval != nil && !math.IsNaN(s.Interval.Low) {
		out += fmt.Sprintf(" [%.3f, %.3f]", s.Interval.Low, s.Interval.High)
	}
	return out
}

func nullable(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func orNaN(p *float64) float64 {
	if p == nil {
		return math.NaN()
	}
	return *p
}

// ratio is a/b, undefined for b = 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}
