// SPDX-License-Identifier: Apache-2.0

package rewrite

// book holds the phrases of one language. {braces} are filled in: {premise},
// {opening}, {outline}, {ending}, {middle}, {craft}, {length}; {a} and {b} are
// figures of the story, {place} a place of it, {min} and {max} the length.
type book struct {
	tasks map[string]phrases
	// comma parts the thousands of a number.
	comma string
	blank string // between two phrases
}

type phrases struct {
	frames []string
	// middle is put between beginning and ending where there are points for it.
	middle []string
	craft  []string
	// Phrases that need figures or a place of the story.
	one, two, where []string
	length          []string
}

var english = book{comma: ",", blank: " ", tasks: map[string]phrases{
	"generation": {
		frames: []string{
			"Write a complete story that grows out of this premise:\n\n{premise}\n\n{craft} {length}",
			"Here is the situation in which a story begins:\n\n{premise}\n\nTell that story in full. {craft} {length}",
			"Use the following as the seed of a new story, and take it wherever it leads:\n\n{premise}\n\n{craft} {length}",
			"A long story starts from no more than this:\n\n{premise}\n\nEverything else is yours to invent. {craft} {length}",
			"Write a new story around this idea:\n\n{premise}\n\n{craft} {length}",
			"Take this starting point and write the whole story, from its first scene to its last:\n\n{premise}\n\n{craft} {length}",
		},
		craft: []string{
			"Decide early what the main character wants and what it may cost, and let every turn of the plot follow from that.",
			"Build the story around at least three scenes in which somebody has to choose, and carry the consequences of each into the next.",
			"Let the world of the story have rules of its own, show them through what happens, and hold to them to the last page.",
			"Give a secondary character a wish that stands in the way of the main character's, and take both wishes seriously.",
			"Let the reader feel how much time passes and what it changes.",
			"Rely on scenes, dialogue and concrete detail more than on summary.",
			"Let the tension rise by steps, and leave room for one quiet scene before the hardest one.",
			"Introduce a small object or a promise near the start that turns out to matter at the end.",
			"Let a mistake made in good faith drive the middle of the story.",
			"End with a change that the first page made possible.",
			"Give each important character a voice that could be told from the others without a name beside it.",
			"Include a setback that the main character does not see coming but the reader can understand afterwards.",
		},
		one: []string{
			"Let {a} turn out to be more complicated than the premise suggests.",
			"Show what {a} is afraid to lose before it is put at risk.",
		},
		two: []string{
			"Let what stands between {a} and {b} change more than once, each time for a reason the reader can see.",
		},
		where: []string{
			"Make {place} a place that a reader could find the way through, with its weather, its sounds and its people.",
		},
		length: []string{
			"Aim for {min} to {max} words.", "The finished story should run to {min}–{max} words.", "Write between {min} and {max} words.",
			"Take {min} to {max} words to tell it.", "Length: {min}–{max} words.",
		},
	},
	"continuation": {
		frames: []string{
			"Continue the story that opens with this passage:\n\n{opening}\n\nPick up exactly where the passage stops, and carry the story to a full ending. {craft} {length}",
			"Below is the opening of a story.\n\n{opening}\n\nWrite the rest of it. {craft} {length}",
			"A story begins like this:\n\n{opening}\n\nGo on from here and bring it to a close that the beginning deserves. {craft} {length}",
			"Read this beginning, then write everything that comes after it:\n\n{opening}\n\n{craft} {length}",
			"Somebody started a story and left it here:\n\n{opening}\n\nFinish it. {craft} {length}",
		},
		craft: []string{
			"Keep to every name, fact and order of events that the passage has settled.",
			"Stay with the voice, tense and point of view of the opening.",
			"Give each person whom the passage brings on a part in what follows.",
			"Let the trouble that the passage only hints at come into full view by the middle of the story.",
			"Do not retell the opening; start with what happens next.",
			"Let new characters arrive for a reason, and keep clear who knows what.",
			"Take one detail of the opening that seems minor and let the ending depend on it.",
			"Let at least one expectation that the opening raises be met, and another be turned around.",
			"Move through at least four distinct scenes, and make each change what is possible in the next.",
			"Let time pass in a way the reader can follow, and let it leave marks on people and places.",
		},
		one: []string{
			"Let the rest of the story test what the opening shows of {a}.",
		},
		two: []string{
			"Make the story turn on what happens between {a} and {b}.",
		},
		where: []string{
			"Come back to {place} at the end, and let it look different to those who return.",
		},
		length: []string{
			"Your continuation should run to {min}–{max} words.", "Write {min} to {max} words beyond the passage.", "Aim for a continuation of {min} to {max} words.",
			"Take {min} to {max} words for the part you write.",
		},
	},
	"expansion": {
		frames: []string{
			"Expand this outline into a full-length story:\n\n{outline}\n\n{craft} {length}",
			"Here are the main events of a story, in order:\n\n{outline}\n\nWrite the story that they summarise. {craft} {length}",
			"Turn the following plot into a story told in scenes:\n\n{outline}\n\n{craft} {length}",
			"The points below are the bones of a story.\n\n{outline}\n\nGive them flesh: write the whole story. {craft} {length}",
			"Write a long story that follows this plot from the first point to the last:\n\n{outline}\n\n{craft} {length}",
		},
		craft: []string{
			"Keep every point and their order, and invent the motives, scenes and conversations that join them.",
			"Where the outline jumps, show what happened in between.",
			"Turn at least four of the points into full scenes with dialogue.",
			"The outline is told briefly and in somebody else's words; find a voice of your own for it.",
			"Let each point follow from the one before as cause and effect, not merely as the next thing that happens.",
			"Give those who appear only once in the outline a reason to be there.",
			"Fill in what people wear, carry, eat and fear, and keep those details the same throughout.",
			"Show what it costs the characters to get from one point to the next.",
			"Let the reader know before the last point what is at stake in it.",
			"Vary the pace: linger where a decision is made, move quickly where it is carried out.",
		},
		one: []string{
			"Tell it close to {a}, so that the reader learns things when {a} does.",
		},
		two: []string{
			"Let the reader understand both {a} and {b}, even where they are against each other.",
		},
		where: []string{
			"Let {place} be more than a backdrop: what people can do there, and what they cannot, should matter.",
		},
		length: []string{
			"Aim for {min} to {max} words.", "The expanded story should run to {min}–{max} words.", "Write between {min} and {max} words.", "Target length: {min}–{max} words.",
		},
	},
	"completion": {
		frames: []string{
			"Write the story that lies between this beginning and this ending.\n\nThe beginning:\n\n{opening}\n\n{middle}The ending:\n\n{ending}\n\n{craft} {length}",
			"The first and the last lines of a story are given; the rest is missing.\n\nIt opens:\n\n{opening}\n\n{middle}It closes:\n\n{ending}\n\nWrite the complete story, with both passages in their places. {craft} {length}",
			"Complete the story that starts and ends as follows.\n\nStart:\n\n{opening}\n\n{middle}End:\n\n{ending}\n\n{craft} {length}",
			"Somewhere between these two passages there is a whole story.\n\nFirst:\n\n{opening}\n\n{middle}Last:\n\n{ending}\n\nTell it from the one to the other. {craft} {length}",
		},
		middle: []string{
			"Somewhere on the way:\n\n{outline}\n\n",
			"In between, among other things:\n\n{outline}\n\n",
		},
		craft: []string{
			"Keep both passages as they are, and make the way from one to the other feel inevitable once it has been read.",
			"Whatever the ending takes for granted has to be earned on the way: who is there, what they know, and what has become of the rest.",
			"Start with the beginning as given and finish with the ending as given.",
			"Plan backwards: let each scene bring about something that the ending needs.",
			"Let the characters of the beginning change by degrees into those of the ending.",
			"Do not let anybody in the ending arrive unprepared.",
			"Let the middle hold at least one turn that neither passage gives away.",
			"Account for everything that differs between the two passages.",
			"Keep the tone of the two passages, and let it deepen in between.",
		},
		one: []string{
			"Make it clear how {a} gets from the first passage to the last.",
		},
		two: []string{
			"Let what happens between {a} and {b} be the thread that ties the two passages together.",
		},
		where: []string{
			"Let part of the way lead through {place}.",
		},
		length: []string{
			"The whole story, with both passages, should run to {min}–{max} words.", "Aim for {min} to {max} words in all.", "In all, write {min} to {max} words.",
		},
	},
}}
