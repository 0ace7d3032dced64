//! The phrases of [`super`], folded and separated by `|`.

/// The phrases of a language.
pub(super) struct ChatterPhrases {
    /// "I'll remember", before at most what it is about.
    pub keeps: &'static str,
    /// "You have not told me", before what it is.
    pub lacks: &'static str,
    /// Words that mean the reader.
    pub you: &'static str,
    /// Words that ask.
    pub asks: &'static str,
    /// Words that mean the speaker.
    pub tells: &'static str,
    /// Nouns are capitalized, not only names.
    pub has_capital_nouns: bool,
}

/// Thanks, greetings, agreement, regret.
#[rustfmt::skip]
pub(super) const BARE: &str =
    "thanks|thank you|thank you very much|thank you so much|thanks a lot|thanks so much|many thanks|thx|cheers|\
     ok|okay|alright|all right|great|perfect|good|nice|cool|fine|awesome|wonderful|excellent|lovely|sure|\
     sure thing|of course|certainly|absolutely|exactly|right|yes|yes please|yeah|yep|no|nope|not yet|hi|\
     hi there|hello|hello there|hey|good morning|good afternoon|good evening|good night|bye|goodbye|see you|\
     see you later|you're welcome|you are welcome|no problem|no worries|my pleasure|got it|i see|i understand|\
     understood|noted|duly noted|will do|sounds good|sounds great|that's great|that's good|good to know|sorry|\
     i'm sorry|i am sorry|my apologies|unfortunately|please|done|wow|oh|ah|hm|hmm|haha|for letting me know|\
     for telling me|for telling me that|for sharing|for sharing that|for the information|for the update|\
     for asking|for you|for later|for next time|next time|from now on|again|glad to help|happy to help|anytime|\
     danke|danke schon|danke sehr|danke dir|danke ihnen|vielen dank|besten dank|herzlichen dank|in ordnung|\
     alles klar|klar|gut|sehr gut|super|prima|toll|perfekt|schon|wunderbar|ja|nein|genau|stimmt|hallo|moin|\
     servus|gruss gott|guten morgen|guten tag|guten abend|gute nacht|tschuss|bis bald|bis spater|\
     auf wiedersehen|bitte|bitte schon|gern|gerne|gern geschehen|gerne geschehen|keine ursache|kein problem|\
     verstanden|notiert|ist notiert|leider|es tut mir leid|tut mir leid|entschuldigung|fur die info|\
     fur die information|fur den hinweis|mache ich|wird gemacht|das freut mich|merci|merci beaucoup|merci bien|\
     d'accord|entendu|compris|c'est compris|note|bien note|c'est note|parfait|genial|tres bien|bien|bien sur|\
     oui|non|bonjour|bonsoir|salut|au revoir|a bientot|bonne nuit|bonne journee|de rien|je vous en prie|\
     je t'en prie|pas de probleme|desole|desolee|je suis desole|je suis desolee|malheureusement|\
     pour l'information|pour l'info|gracias|muchas gracias|mil gracias|de acuerdo|vale|entendido|perfecto|\
     muy bien|claro|si|hola|buenos dias|buenas tardes|buenas noches|adios|hasta luego|de nada|no hay problema|\
     anotado|apuntado|lo siento|perdon|lamentablemente|por desgracia|por supuesto|excelente|por la informacion|\
     grazie|grazie mille|molte grazie|va bene|d'accordo|capito|ho capito|perfetto|ottimo|bene|molto bene|ciao|\
     buongiorno|buonasera|buonanotte|arrivederci|a presto|prego|di niente|nessun problema|annotato|segnato|\
     mi dispiace|scusa|purtroppo|certo|certamente|per l'informazione|obrigado|obrigada|muito obrigado|\
     muito obrigada|esta bem|ta bom|entendi|perfeito|otimo|muito bem|sim|nao|ola|oi|bom dia|boa tarde|boa noite|\
     tchau|ate logo|sem problema|desculpe|desculpa|sinto muito|lamento|infelizmente|com certeza|pela informacao|\
     dank je|dank je wel|dank u|dank u wel|bedankt|hartelijk dank|oke|goed|heel goed|begrepen|genoteerd|\
     duidelijk|nee|hoi|goedemorgen|goedemiddag|goedenavond|tot ziens|doei|graag gedaan|geen probleem|\
     het spijt me|helaas|natuurlijk|geweldig|voor de informatie|dziekuje|dziekuje bardzo|bardzo dziekuje|dzieki|\
     dobrze|dobra|okej|jasne|rozumiem|zanotowane|zanotowano|swietnie|tak|nie|czesc|dzien dobry|dobry wieczor|\
     dobranoc|do widzenia|prosze|nie ma za co|nie ma problemu|przepraszam|przykro mi|niestety|oczywiscie|\
     спасибо|большое спасибо|спасибо большое|хорошо|ладно|понятно|понял|поняла|принято|записал|записала|\
     записано|отлично|да|нет|привет|здравствуите|доброе утро|добрыи день|добрыи вечер|спокоинои ночи|\
     до свидания|пожалуиста|не за что|без проблем|извини|извините|простите|к сожалению|конечно|ясно|дякую|\
     щиро дякую|дуже дякую|добре|гаразд|зрозуміло|зрозумів|зрозуміла|записав|чудово|так|ні|привіт|доброго ранку|\
     добрии день|добрии вечір|на добраніч|до побачення|будь ласка|нема за що|вибач|вибачте|на жаль|звичаино|\
     tesekkurler|tesekkur ederim|cok tesekkurler|cok tesekkur ederim|sag ol|sag olun|sagol|tamam|peki|anladim|\
     anlasildi|not aldim|not ettim|harika|guzel|cok iyi|evet|hayir|merhaba|selam|gunaydin|iyi aksamlar|\
     iyi geceler|hosca kal|gorusuruz|rica ederim|bir sey degil|sorun degil|ozur dilerim|uzgunum|maalesef|\
     ne yazik ki|elbette|tabii|好的|好|谢谢|谢谢你|谢谢您|多谢|不客气|没问题|明白|明白了|知道了|我知道了|了解|\
     收到|是的|你好|您好|早上好|晚上好|晚安|再见|对不起|抱歉|很抱歉|不好意思|太好了|很好|当然|嗯|謝謝|謝謝你|\
     謝謝您|不客氣|沒問題|再見|對不起|當然|はい|いいえ|ありがとう|ありがとうございます|ありがとうございました|\
     どうもありがとうございます|どうも|了解です|了解しました|承知しました|承知いたしました|かしこまりました|\
     わかりました|分かりました|わかった|なるほど|そうですね|こんにちは|おはよう|おはようございます|こんばんは|\
     おやすみなさい|さようなら|どういたしまして|すみません|申し訳ありません|ごめんなさい|残念ながら|\
     もちろんです|いいですね|メモしました|記録しました|네|예|아니요|감사합니다|고맙습니다|고마워요|고마워|\
     알겠습니다|알겠어요|알았어요|좋아요|좋습니다|안녕하세요|안녕히 가세요|안녕히 계세요|천만에요|괜찮습니다|\
     괜찮아요|죄송합니다|죄송하지만|미안합니다|미안해요|아쉽게도|물론입니다|물론이죠|메모했습니다|기록했습니다|\
     شكرا|شكرا لك|شكرا جزيلا|حسنا|تمام|نعم|لا|مرحبا|السلام عليكم|وعليكم السلام|صباح الخير|مساء الخير|\
     تصبح على خير|مع السلامة|الى اللقاء|عفوا|على الرحب والسعة|لا مشكلة|فهمت|مفهوم|اسف|انا اسف|عذرا|للاسف|\
     بالتاكيد|طبعا|ممتاز|رايع|من فضلك|धन्यवाद|बहुत धन्यवाद|बहुत बहुत धन्यवाद|शुक्रिया|ठीक है|अच्छा|बहुत अच्छा|हाँ|हां|जी|\
     जी हाँ|जी हां|नहीं|नमस्ते|नमस्कार|शुभ प्रभात|शुभ रात्रि|अलविदा|कोई बात नहीं|समझ गया|समझ गई|मैं समझ गया|मैं समझ गई|\
     नोट कर लिया|माफ़ कीजिए|क्षमा करें|मुझे खेद है|दुर्भाग्य से|ज़रूर|बिल्कुल|बढ़िया";

#[rustfmt::skip]
pub(super) static LANGUAGES: [ChatterPhrases; 16] = [
    // English
    ChatterPhrases {
        keeps: "i'll remember|i will remember|i'll remember that|i will remember that|i'll remember it|\
            i keep that in mind|i'll keep that in mind|i will keep that in mind|i'll keep it in mind|\
            i'll keep in mind|i'll note|i'll note that|i'll make a note|i'll make a note of that|i've noted|\
            i've noted that|i have noted|i have noted that|i've made a note of that|i'll save that|\
            i've saved that|i have saved that|i won't forget|i will not forget|i'll remind you|i will remind you",
        lacks: "you have not told me|you haven't told me|you did not tell me|you didn't tell me|\
            you have never told me|you've never told me|you have not mentioned|you haven't mentioned|\
            you have not said|you haven't said|i don't know|i do not know|i don't remember|i do not remember|\
            i don't recall|i can't find|i cannot find|i couldn't find|i could not find|i don't have your|\
            i do not have your|i have no information|i don't have any information|i have no record|\
            i don't have a record|i have no memory",
        you: "you|your|yours|you've|you're|you'd",
        asks: "when|where|who|whom|whose|what|which|how|why|whether|if|about",
        tells: "i|i'm|i've|i'd|i'll|my|me|we|we're|we've|our",
        has_capital_nouns: false,
    },
    // German
    ChatterPhrases {
        keeps: "ich merke mir|ich merke mir das|ich merke es mir|merke ich mir|das merke ich mir|\
            ich werde mir merken|ich werde mir das merken|ich werde es mir merken|ich habe mir gemerkt|\
            ich habe mir das gemerkt|ich habe es mir gemerkt|gemerkt|ist gemerkt|ich behalte das im kopf|\
            ich notiere|ich notiere mir|ich notiere mir das|ich habe notiert|ich habe das notiert|\
            ich habe es notiert|ich denke daran|ich vergesse das nicht|ich erinnere dich|\
            ich erinnere dich daran|ich erinnere sie|ich erinnere sie daran|ich habe das gespeichert",
        lacks: "du hast mir nicht gesagt|du hast mir noch nicht gesagt|du hast mir nicht erzahlt|\
            du hast mir noch nicht erzahlt|du hast noch nicht gesagt|das hast du mir nicht gesagt|\
            das hast du mir noch nicht gesagt|sie haben mir nicht gesagt|sie haben mir noch nicht gesagt|\
            das haben sie mir noch nicht gesagt|ich weiss nicht|ich weiss noch nicht|ich weiss leider nicht|\
            ich weiss leider noch nicht|weiss ich nicht|weiss ich noch nicht|das weiss ich nicht|\
            das weiss ich noch nicht|das weiss ich leider nicht|ich habe keine informationen|\
            ich habe keine angaben|ich finde nichts",
        you: "du|dich|dir|dein|deine|deinen|deinem|deiner|deines|sie|ihr|ihre|ihren|ihrem|ihrer|ihres|ihnen",
        asks: "wann|wo|wer|wen|wem|was|wie|welcher|welche|welches|welchen|welchem|warum|wohin|woher|ob|woruber",
        tells: "ich|mein|meine|meinen|meinem|meiner|meines|mir|mich|wir|unser|unsere|unseren",
        has_capital_nouns: true,
    },
    // French
    ChatterPhrases {
        keeps: "je m'en souviendrai|je me souviendrai|je retiens|je le retiens|je note|je le note|je prends note|\
            j'en prends note|j'ai note|j'ai bien note|je l'ai note|je garde ca en tete|je n'oublierai pas|\
            je te rappellerai|je vous rappellerai",
        lacks: "tu ne m'as pas dit|tu ne m'as pas encore dit|tu ne m'as jamais dit|vous ne m'avez pas dit|\
            vous ne m'avez pas encore dit|je ne sais pas|je ne sais pas encore|je ne connais pas|\
            je ne connais pas encore|je n'ai pas d'information|je n'ai pas d'informations|\
            je n'ai aucune information",
        you: "tu|te|toi|ton|ta|tes|vous|votre|vos",
        asks: "quand|ou|qui|quoi|quel|quelle|quels|quelles|comment|pourquoi|combien|si",
        tells: "je|j'ai|j'habite|j'aime|mon|ma|mes|moi|nous|notre|nos",
        has_capital_nouns: false,
    },
    // Spanish
    ChatterPhrases {
        keeps: "lo recordare|recordare|lo tendre en cuenta|tendre en cuenta|lo tengo en cuenta|tomo nota|\
            he tomado nota|lo anoto|anoto|lo he anotado|he anotado|no lo olvidare|me acordare|te recordare|\
            te lo recordare|lo he guardado",
        lacks: "no me has dicho|aun no me has dicho|todavia no me has dicho|no me ha dicho|todavia no me ha dicho|\
            no lo se|todavia no lo se|no se donde|no se cuando|no se quien|no se que|no se cual|no se como|\
            no se cuanto|aun no se donde|aun no se cuando|aun no se que|aun no se cual|no tengo informacion",
        you: "tu|tus|te|ti|usted|su|sus|has|ha|tienes|vives|eres|estas",
        asks: "cuando|donde|quien|cual|cuales|como|cuanto|cuantos|si",
        tells: "yo|mi|mis|me|tengo|vivo|soy|estoy|nosotros|nuestro|nuestra",
        has_capital_nouns: false,
    },
    // Italian
    ChatterPhrases {
        keeps: "me lo ricordero|ricordero|lo ricordero|mi ricordero|lo terro a mente|terro a mente|lo tengo a mente|\
            prendo nota|ho preso nota|lo annoto|ho annotato|l'ho annotato|me lo segno|non lo dimentichero|\
            ti ricordero|te lo ricordero",
        lacks: "non mi hai detto|non mi hai ancora detto|non me lo hai detto|non me l'hai detto|\
            non me l'hai ancora detto|non so|non so ancora|non lo so|non lo so ancora|non conosco|\
            non conosco ancora|non ho informazioni",
        you: "tu|tuo|tua|tuoi|tue|ti|te|lei|suo|sua|hai|l'hai|sei|abiti",
        asks: "quando|dove|chi|quale|quali|come|quanto|perche|se",
        tells: "io|mio|mia|miei|mie|ho|sono|abito|noi|nostro|nostra",
        has_capital_nouns: false,
    },
    // Portuguese
    ChatterPhrases {
        keeps: "vou lembrar|vou lembrar disso|vou me lembrar|vou me lembrar disso|lembrarei|vou guardar isso|\
            vou anotar|vou anotar isso|anotei|ja anotei|tomei nota|vou ter isso em conta|nao vou esquecer|\
            vou te lembrar",
        lacks: "voce nao me disse|voce ainda nao me disse|nao me disseste|ainda nao me disseste|nao sei|\
            ainda nao sei|nao conheco|ainda nao conheco|nao tenho informacao|nao tenho informacoes",
        you: "voce|tu|te|ti|seu|sua|seus|suas|teu|tua|teus|tuas|disseste",
        asks: "quando|onde|quem|qual|quais|como|quanto|se",
        tells: "eu|meu|minha|meus|minhas|tenho|moro|sou|estou|nosso|nossa",
        has_capital_nouns: false,
    },
    // Dutch
    ChatterPhrases {
        keeps: "ik zal het onthouden|ik zal dat onthouden|ik zal onthouden|ik onthoud|ik onthoud het|ik onthoud dat|\
            dat onthoud ik|ik noteer|ik noteer het|ik noteer dat|ik heb genoteerd|ik heb het genoteerd|\
            ik heb dat genoteerd|ik zal het niet vergeten|ik herinner je eraan|ik zal je eraan herinneren",
        lacks: "je hebt me niet verteld|je hebt me nog niet verteld|je hebt mij niet verteld|\
            je hebt mij nog niet verteld|je hebt me niet gezegd|u hebt me niet verteld|\
            u heeft me nog niet verteld|dat heb je me niet verteld|dat heb je me nog niet verteld|ik weet niet|\
            ik weet nog niet|dat weet ik niet|dat weet ik nog niet|ik heb geen informatie",
        you: "je|jij|jou|jouw|u|uw",
        asks: "wanneer|waar|wie|wat|welke|welk|hoe|waarom|of",
        tells: "ik|mijn|me|mij|we|wij|ons|onze",
        has_capital_nouns: false,
    },
    // Polish
    ChatterPhrases {
        keeps: "zapamietam|zapamietam to|bede pamietac|bede o tym pamietac|zapamietalem|zapamietalam|\
            zapamietalem to|zapamietalam to|zanotuje|zanotuje to|zanotowalem|zanotowalam|zapisze|zapisze to|\
            zapisalem|zapisalam|nie zapomne|przypomne ci",
        lacks: "nie powiedziales mi|nie powiedzialas mi|jeszcze mi nie powiedziales|jeszcze mi nie powiedzialas|\
            nie powiedziales mi jeszcze|nie powiedzialas mi jeszcze|nie mowiles mi|nie mowilas mi|nie wiem|\
            jeszcze nie wiem|nie znam|nie mam informacji",
        you: "ty|ci|cie|ciebie|tobie|twoj|twoja|twoje|twojego|twojej|twoich|pan|pani|powiedziales|powiedzialas|\
            mowiles|mowilas|mieszkasz|masz|jestes|pijesz",
        asks: "kiedy|gdzie|kto|kogo|co|jaki|jaka|jakie|ktory|ktora|ktore|jak|czy|dlaczego|ile",
        tells: "ja|moj|moja|moje|mi|mnie|mam|jestem|mieszkam|my|nasz|nasza",
        has_capital_nouns: false,
    },
    // Russian
    ChatterPhrases {
        keeps: "запомню|я запомню|запомнил|запомнила|я запомнил|я запомнила|буду помнить|я буду помнить|\
            буду иметь в виду|учту|я учту|запишу|я запишу|я записал|я записала|не забуду|я не забуду|напомню|\
            я напомню|я напомню тебе|я напомню вам",
        lacks: "ты мне не сказал|ты мне не сказала|ты мне не говорил|ты мне не говорила|ты мне еще не сказал|\
            ты мне еще не сказала|ты мне еще не говорил|ты мне еще не говорила|вы мне не сказали|\
            вы мне не говорили|вы мне еще не сказали|вы мне еще не говорили|не знаю|я не знаю|я еще не знаю|\
            я пока не знаю|у меня нет информации",
        you: "ты|тебе|тебя|тобои|твои|твоя|твое|твоего|твоеи|твоих|вы|вам|вас|ваш|ваша|ваше|ваши|вашего|вашеи|\
            ваших",
        asks: "когда|где|кто|кого|какои|какая|какое|какие|какого|как|куда|откуда|почему|сколько|чеи",
        tells: "я|мои|моя|мое|мне|меня|мы|наш|наша|у меня",
        has_capital_nouns: false,
    },
    // Ukrainian
    ChatterPhrases {
        keeps: "запам'ятаю|я запам'ятаю|запам'ятав|запам'ятала|я запам'ятав|я запам'ятала|буду пам'ятати|\
            я буду пам'ятати|врахую|я врахую|запишу|я запишу|я записав|я записала|не забуду|я не забуду|нагадаю|\
            я нагадаю",
        lacks: "ти мені не сказав|ти мені не сказала|ти мені не казав|ти мені не казала|ти мені ще не сказав|\
            ти мені ще не сказала|ти мені ще не казав|ти мені ще не казала|ви мені не сказали|\
            ви мені ще не сказали|ви мені не казали|не знаю|я не знаю|я ще не знаю|я поки не знаю|\
            у мене немає інформаціі",
        you: "ти|тобі|тебе|тобою|твіи|твоя|твоє|твоі|твого|твоєі|твоіх|ви|вам|вас|ваш|ваша|ваше|ваші|вашого|вашоі|\
            ваших",
        asks: "коли|де|хто|кого|якии|яка|яке|які|якого|як|куди|звідки|чому|скільки|чи",
        tells: "я|міи|моя|моє|моі|мені|мене|ми|наш|наша|у мене|в мене",
        has_capital_nouns: false,
    },
    // Turkish
    ChatterPhrases {
        keeps: "hatirlayacagim|bunu hatirlayacagim|aklimda tutacagim|bunu aklimda tutacagim|bunu not ettim|\
            bunu not aldim|not aliyorum|unutmayacagim|bunu unutmayacagim|kaydettim|bunu kaydettim|\
            sana hatirlatacagim|size hatirlatacagim",
        lacks: "bana soylemedin|bunu bana soylemedin|bana henuz soylemedin|bana soylemediniz|bilmiyorum|\
            henuz bilmiyorum|bunu bilmiyorum|bunu henuz bilmiyorum",
        you: "sen|sana|seni|senin|siz|size|sizi|sizin",
        asks: "ne|nerede|kim|hangi|nasil|neden|kac",
        tells: "ben|bana|beni|benim|biz|bizim",
        has_capital_nouns: false,
    },
    // Chinese
    ChatterPhrases {
        keeps: "我记住了|记住了|我会记住|我会记住的|我记下了|记下了|我已经记住了|我已经记下了|已记录|我会记得|\
            我会记得的|我不会忘记|我会提醒你|我記住了|記住了|我會記住|我會記住的|我記下了|記下了|我已經記住了|\
            我會記得|我會提醒你",
        lacks: "你没有告诉我|你没告诉我|你还没有告诉我|你还没告诉我|您没有告诉我|您还没有告诉我|您还没告诉我|\
            我不知道|我还不知道|你沒有告訴我|你還沒有告訴我|你還沒告訴我|您還沒有告訴我|我還不知道",
        you: "你|您",
        asks: "什么|什麼|哪|谁|誰|怎么|怎麼|几|幾|多少|何时|何時|吗|嗎",
        tells: "我",
        has_capital_nouns: false,
    },
    // Japanese
    ChatterPhrases {
        keeps: "覚えておきます|覚えました|記憶しました|記憶しておきます|メモしておきます|記録しておきます|忘れません",
        lacks: "まだ教えてもらっていません|教えてもらっていません|まだ聞いていません|聞いていません|わかりません|\
            分かりません|まだわかりません|知りません|まだ知りません|存じません",
        you: "あなた",
        asks: "何|いつ|どこ|誰|だれ|どの|どれ|どう|なぜ",
        tells: "私|僕|俺|うち",
        has_capital_nouns: false,
    },
    // Korean
    ChatterPhrases {
        keeps: "기억할게요|기억하겠습니다|기억해 둘게요|기억해둘게요|기억해 두겠습니다|기억해두겠습니다|\
            잊지 않을게요|잊지 않겠습니다|메모해 둘게요|메모해 두겠습니다",
        lacks: "아직 말씀하지 않으셨습니다|아직 말씀하지 않으셨어요|아직 알려 주지 않으셨습니다|\
            아직 알려 주지 않으셨어요|모르겠습니다|모르겠어요|잘 모르겠습니다|잘 모르겠어요|아직 모릅니다|\
            아직 몰라요",
        you: "당신|너",
        asks: "언제|어디|누구|무엇|뭐|어떤|어떻게|왜|몇",
        tells: "저는|제|나는|내|우리",
        has_capital_nouns: false,
    },
    // Arabic
    ChatterPhrases {
        keeps: "ساتذكر|ساتذكر ذلك|سوف اتذكر|سوف اتذكر ذلك|سجلت ذلك|لقد سجلت ذلك|دونت ذلك|لن انسى|لن انسى ذلك|ساذكرك",
        lacks: "لم تخبرني|لم تخبرني بعد|لم تخبريني|لم تخبريني بعد|لم تقل لي|لم تقل لي بعد|لا اعرف|لا اعرف بعد|\
            لا ادري|لا اعلم|ليس لدي معلومات",
        you: "انت|لك|عنك|تخبرني|تخبريني|تقل|تسكن|تعيش|تشرب",
        asks: "متى|اين|ماذا|كيف|لماذا|اي|هل|كم",
        tells: "انا|نحن|لدي|عندي",
        has_capital_nouns: false,
    },
    // Hindi
    ChatterPhrases {
        keeps: "याद रखूँगा|याद रखूंगा|याद रखूँगी|याद रखूंगी|मैं याद रखूँगा|मैं याद रखूंगा|मैं याद रखूँगी|मैं याद रखूंगी|मैं इसे याद रखूँगा|\
            मैं इसे याद रखूंगा|मैं इसे याद रखूँगी|मैं इसे याद रखूंगी|मैंने नोट कर लिया|मैंने याद कर लिया|मैंने इसे नोट कर लिया|\
            मैं नहीं भूलूँगा|मैं नहीं भूलूंगा",
        lacks: "आपने मुझे नहीं बताया|आपने मुझे अभी तक नहीं बताया|आपने नहीं बताया|आपने अभी तक नहीं बताया|तुमने मुझे नहीं बताया|\
            मुझे नहीं पता|मुझे अभी नहीं पता|मुझे पता नहीं|मैं नहीं जानता|मैं नहीं जानती",
        you: "आप|आपका|आपकी|आपके|आपको|आपने|तुम|तुम्हारा|तुम्हारी|तुम्हारे|तुमने",
        asks: "कब|कहाँ|कहां|कौन|क्या|कैसे|क्यों|किस|कितना|कितने",
        tells: "मैं|मेरा|मेरी|मेरे|मुझे|हम|हमारा|हमारी",
        has_capital_nouns: false,
    },
];
