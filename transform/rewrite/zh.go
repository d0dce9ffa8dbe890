// SPDX-License-Identifier: Apache-2.0

package rewrite

var chinese = book{comma: "", blank: "", tasks: map[string]phrases{
	"generation": {
		frames: []string{
			"请以下面的设定为起点，写一个完整的故事：\n\n{premise}\n\n{craft}{length}",
			"一个故事从这样的处境开始：\n\n{premise}\n\n请把它从头到尾写出来，其余情节由你自由创造。{craft}{length}",
			"请围绕下面这个构思创作一篇新的长故事：\n\n{premise}\n\n{craft}{length}",
		},
		craft: []string{
			"尽早让读者明白主人公想要什么、可能为此付出什么代价，并让每一次转折都由此而来。",
			"至少安排三个必须作出抉择的场景，让每个抉择的后果延续到下一场。",
			"故事的世界要有自己的规则，规则通过情节呈现，并始终如一。",
			"多用场景、对话和具体细节，少用概述。",
			"在开头埋下一件小物或一句承诺，让它在结尾变得重要。",
			"让时间的流逝清晰可辨，并在人物身上留下痕迹。",
			"给一位次要人物一个与主人公相冲突的愿望，并认真对待双方。",
		},
		length: []string{"全文约{min}至{max}字。", "篇幅控制在{min}—{max}字。", "目标字数：{min}至{max}字。"},
	},
	"continuation": {
		frames: []string{
			"下面是一个故事的开头：\n\n{opening}\n\n请紧接着这段文字续写，直到故事完整结束。{craft}{length}",
			"有人写下了这样的开头，然后停了笔：\n\n{opening}\n\n请把后面的故事写完。{craft}{length}",
			"请阅读这段开头，并写出此后发生的一切：\n\n{opening}\n\n{craft}{length}",
		},
		craft: []string{
			"开头已经交代的人名、事实和先后次序都要保持不变。",
			"延续开头的语气、人称和视角。",
			"不要复述开头，直接写接下来发生的事。",
			"让开头中出现的每个人都在后文中有所作为。",
			"开头只是暗示的矛盾，到故事中段要完全显露出来。",
			"选取开头里一个看似不起眼的细节，让结局取决于它。",
		},
		length: []string{"续写部分约{min}至{max}字。", "续写篇幅控制在{min}—{max}字。"},
	},
	"expansion": {
		frames: []string{
			"请把下面的大纲扩写成一篇完整的长故事：\n\n{outline}\n\n{craft}{length}",
			"下面依次是一个故事的主要情节：\n\n{outline}\n\n请写出它们所概括的那个故事。{craft}{length}",
			"请把下列情节写成由一个个场景构成的故事：\n\n{outline}\n\n{craft}{length}",
		},
		craft: []string{
			"保留每一个要点及其顺序，补足把它们连起来的动机、场景和对话。",
			"大纲跳过的地方，请写出其间发生了什么。",
			"至少把其中四个要点写成有对话的完整场景。",
			"让每个要点都由前一个要点引出，而不只是先后发生。",
			"人物的穿戴、随身之物和性情等细节要写得具体，并且前后一致。",
			"写出人物从一个要点走到下一个要点所付出的代价。",
		},
		length: []string{"全文约{min}至{max}字。", "扩写后的故事应为{min}—{max}字。"},
	},
	"completion": {
		frames: []string{
			"请写出下面这个开头与这个结尾之间的故事。\n\n开头：\n\n{opening}\n\n{middle}结尾：\n\n{ending}\n\n{craft}{length}",
			"一个故事只留下了开头和结尾，中间的部分遗失了。\n\n开头：\n\n{opening}\n\n{middle}结尾：\n\n{ending}\n\n请写出完整的故事，两段文字都要放在原处。{craft}{length}",
		},
		middle: []string{"其间会发生这样的事：\n\n{outline}\n\n"},
		craft: []string{
			"以给定的开头起笔，以给定的结尾收束，让两者之间的过程水到渠成。",
			"结尾中视为当然的一切，都要在途中写出来由。",
			"让人物从开头的样子一步步变成结尾的样子。",
			"中段至少要有一次转折，是开头和结尾都没有透露的。",
			"两段文字之间的每一处不同都要有所交代。",
		},
		length: []string{"全文（含首尾两段）约{min}至{max}字。", "总篇幅控制在{min}—{max}字。"},
	},
}}
